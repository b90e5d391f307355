// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/util/jsonpath"

	"github.com/kubectl-scylla/kubectl-scylla/internal/exit"
	"github.com/kubectl-scylla/kubectl-scylla/internal/render"
)

// customColumns begins the format of columns that the user chooses, as kubectl has it.
const customColumns = "custom-columns="

// Columns are those of -o custom-columns=HEADER:.path,...
type Columns struct {
	headers []string
	paths   []*jsonpath.JSONPath
}

// parseColumns reads "MEMBER:.member,SEEN:.seen.status".
func parseColumns(spec string) (*Columns, error) {
	const cure = "write HEADER:.path, such as MEMBER:.member,IP:.podIP"
	c := &Columns{}
	for part := range strings.SplitSeq(spec, ",") {
		header, path, ok := strings.Cut(part, ":")
		if !ok || header == "" || path == "" {
			return nil, exit.WithHint(exit.Usagef("column %q of -o custom-columns cannot be read", part), cure)
		}
		path = strings.TrimSuffix(strings.TrimPrefix(path, "{"), "}")
		if !strings.HasPrefix(path, ".") {
			path = "." + path
		}
		p := jsonpath.New(header).AllowMissingKeys(true)
		if err := p.Parse("{" + path + "}"); err != nil {
			return nil, exit.WithHint(exit.Usage(fmt.Errorf("read column %s of -o custom-columns: %w", header, err)), cure)
		}
		c.headers, c.paths = append(c.headers, header), append(c.paths, p)
	}
	return c, nil
}

// none is kubectl's text for a path without a value.
const none = "<none>"

// Print draws one line per item, each of which is seen as its JSON.
func (c *Columns) Print(d *Deps, items []any, headers bool) error {
	t := &render.Table{NoHeader: !headers}
	for _, h := range c.headers {
		t.Columns = append(t.Columns, render.Column{Header: h})
	}
	for _, item := range items {
		data, err := json.Marshal(item)
		if err != nil {
			return fmt.Errorf("print columns: %w", err)
		}
		var fields any
		if err := utiljson.Unmarshal(data, &fields); err != nil {
			return fmt.Errorf("print columns: %w", err)
		}
		row := make([]render.Cell, len(c.paths))
		for i, p := range c.paths {
			var b bytes.Buffer
			if err := p.Execute(&b, fields); err != nil {
				return exit.WithHint(fmt.Errorf("print column %s: %s", c.headers[i], strings.ReplaceAll(err.Error(), "map[string]interface {}", "an object")), seeFields)
			}
			row[i] = render.Text(b.String())
			if b.Len() == 0 {
				row[i] = render.Text(none)
			}
		}
		t.Rows = append(t.Rows, row)
	}
	return d.Print(t.String(0, ""), d.Options(true))
}

// TableFlags choose and order the lines of nodes.
type TableFlags struct {
	Problems, NoHeaders bool
	SortBy              render.SortFlag
}

// AddFlags binds the flags.
func (f *TableFlags) AddFlags(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.Problems, "problems", false, "Only nodes that something is wrong with, and of several clusters only those that are not healthy.")
	cmd.Flags().Var(&f.SortBy, "sort-by", "Order of the nodes: "+strings.Join(render.SortKeys(), ", ")+". seen and row put the worst first.")
	cmd.Flags().BoolVar(&f.NoHeaders, "no-headers", false, "Only the lines of the table, without verdict and headers, for scripts.")
	_ = cmd.RegisterFlagCompletionFunc("sort-by", cobra.FixedCompletions(render.SortKeys(), cobra.ShellCompDirectiveNoFileComp))
}

// Validate refuses flags that have no effect on the output format.
func (f *TableFlags) Validate(out *OutputFlags) error {
	if f.NoHeaders && !out.Text() {
		return exit.Usagef("--no-headers is for tables: documents have none")
	}
	return nil
}

// Options of a text with these choices.
func (f *TableFlags) Options(o render.Options) render.Options {
	o.Problems, o.SortBy, o.NoHeaders = f.Problems, f.SortBy, f.NoHeaders
	return o
}
