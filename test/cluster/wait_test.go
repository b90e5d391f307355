// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/test/cluster"
)

func TestWaitFor(t *testing.T) {
	broken := errors.New("connection refused")
	type look struct {
		done  bool
		state string
		err   error
	}
	for name, tc := range map[string]struct {
		looks []look // the last one repeats
		want  string // in the error; empty: none
		took  time.Duration
	}{
		"done at the first look costs no time":         {looks: []look{{done: true}}},
		"errors before it is done are forgotten":       {looks: []look{{err: broken}, {state: "1 of 3"}, {done: true}}, took: 2 * time.Second},
		"a timeout tells the last state":               {looks: []look{{err: broken}, {state: "1 of 3"}}, want: "wait for three pods: gave up after 10s: context deadline exceeded; last state: 1 of 3", took: 10 * time.Second},
		"a timeout tells the last error":               {looks: []look{{state: "1 of 3"}, {err: broken}}, want: "last state: connection refused", took: 10 * time.Second},
		"a permanent error ends it with what was":      {looks: []look{{state: "1 of 3"}, {err: cluster.Permanent(broken)}}, want: "wait for three pods: connection refused; last state: 1 of 3", took: time.Second},
		"a permanent error ends it with its own state": {looks: []look{{state: "2 of 3", err: cluster.Permanent(broken)}}, want: "connection refused; last state: 2 of 3"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				defer cancel()
				start, n := time.Now(), 0
				err := cluster.WaitFor(ctx, "three pods", time.Second, func(context.Context) (bool, string, error) {
					l := tc.looks[min(n, len(tc.looks)-1)]
					n++
					return l.done, l.state, l.err
				})
				if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
					t.Errorf("got error %v, want %q", err, tc.want)
				}
				if took := time.Since(start); took != tc.took {
					t.Errorf("it took %s, want %s", took, tc.took)
				}
			})
		})
	}
}

func TestWaitForKeepsTheStateThatTheEndOfItsContextBrokeOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
		defer cancel()
		n := 0
		err := cluster.WaitFor(ctx, "a pod", time.Second, func(ctx context.Context) (bool, string, error) {
			if n++; n == 1 {
				return false, "Pending", nil
			}
			<-ctx.Done()
			return false, "", ctx.Err()
		})
		if err == nil || !strings.Contains(err.Error(), "last state: Pending") || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got error %v, want the state that was seen before", err)
		}
	})
}
