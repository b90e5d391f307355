// SPDX-License-Identifier: Apache-2.0

package bounded

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
)

// Each decodes the one JSON list in r, one item at a time, and passes each item with its index to
// use. Its memory does not depend on the number of items. JSON null is an empty list. what names
// the list in errors. Errors: *TooLargeError, the first error of use, and errors from package json.
func Each[T any](l Limit, r io.Reader, what string, use func(i int, item T) error) error {
	// The budget is how many bytes the present item may still read; a Decoder reads only some
	// kilobytes ahead.
	item := &reader{r: l.Reader(r, what), left: math.MaxInt64}
	if l.ItemBytes > 0 {
		item.left = l.ItemBytes
	}
	i := 0
	item.fail = func() error {
		return &TooLargeError{What: fmt.Sprintf("item %d of %s", i, what), Limit: Size(l.ItemBytes), Cure: l.Cure}
	}
	d := json.NewDecoder(item)
	switch t, err := d.Token(); {
	case errors.Is(err, io.EOF):
		return errors.New("empty body where JSON was expected")
	case err != nil:
		return err
	case t == nil:
		return end(d)
	case t != json.Delim('['):
		return errors.New("not a JSON list")
	}
	for ; d.More(); i++ {
		if l.Items > 0 && i >= l.Items {
			return &TooLargeError{What: what, Limit: fmt.Sprintf("%d items", l.Items), Cure: l.Cure}
		}
		var v T
		if err := d.Decode(&v); err != nil {
			return inTheMiddle(err)
		}
		if err := use(i, v); err != nil {
			return err
		}
		if l.ItemBytes > 0 {
			item.left = l.ItemBytes
		}
	}
	if _, err := d.Token(); err != nil { // the closing bracket
		return inTheMiddle(err)
	}
	return end(d)
}

// end returns an error if anything follows the value.
func end(d *json.Decoder) error {
	switch _, err := d.Token(); {
	case errors.Is(err, io.EOF):
		return nil
	case err == nil:
		return errors.New("unexpected data after the JSON value")
	default:
		return err
	}
}

func inTheMiddle(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("it ends in the middle of the JSON")
	}
	return err
}
