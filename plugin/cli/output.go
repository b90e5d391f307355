// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/printers"

	"github.com/kubectl-scylla/kubectl-scylla/internal/base/exit"
	"github.com/kubectl-scylla/kubectl-scylla/internal/show/document"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// OutputFlags are kubectl's -o and --template, for documents that also have a text format.
type OutputFlags struct {
	print   *genericclioptions.PrintFlags
	formats []string // in addition to those of cli-runtime
	printer printers.ResourcePrinter
	// NoName refuses -o name, for documents that are about no object.
	NoName bool
}

// AddFlags binds the flags. text are the command's own formats ("wide"); the empty format is always
// the default text.
func (f *OutputFlags) AddFlags(cmd *cobra.Command, text ...string) {
	f.print, f.formats = genericclioptions.NewPrintFlags(""), text
	// PrintFlags.AddFlags would add --show-managed-fields, which documents do not have.
	f.print.TemplatePrinterFlags.AddFlags(cmd)
	Rarely(cmd, "allow-missing-template-keys", "template")
	cmd.Flags().StringVarP(f.print.OutputFormat, "output", "o", "", "Output format. One of: "+
		strings.Join(f.allowed(), ", ")+".")
	f.print.OutputFlagSpecified = func() bool { return cmd.Flags().Changed("output") }
	_ = cmd.RegisterFlagCompletionFunc("output",
		cobra.FixedCompletions(f.allowed(), cobra.ShellCompDirectiveNoFileComp|cobra.ShellCompDirectiveNoSpace))
}

func (f *OutputFlags) allowed() []string {
	all := append(slices.Clone(f.formats), "json", "yaml", "name", "jsonpath=...", "jsonpath-file=...",
		"go-template=...", "go-template-file=...")
	return slices.DeleteFunc(all, func(format string) bool { return f.NoName && format == "name" })
}

// Bound reports whether the command has the flags.
func (f *OutputFlags) Bound() bool { return f.print != nil }

// Validate creates the printer, so that an invalid format or template is refused before any
// request.
func (f *OutputFlags) Validate() error {
	format := *f.print.OutputFormat
	templated := f.print.TemplatePrinterFlags.TemplateArgument != nil &&
		*f.print.TemplatePrinterFlags.TemplateArgument != ""
	if format == "" && !templated || slices.Contains(f.formats, format) {
		return nil
	}
	p, err := f.print.ToPrinter()
	if refused := f.NoName && format == "name"; err != nil || refused {
		if refused || genericclioptions.IsNoCompatiblePrinterError(err) {
			return exit.Usagef("unknown output format %q: use one of %s", format, strings.Join(f.allowed(), ", "))
		}
		return exit.Usage(fmt.Errorf("invalid -o %s: %w", format, templateError(err)))
	}
	f.printer = p
	return nil
}

// Text reports whether text is requested, not a document.
func (f *OutputFlags) Text() bool { return f.printer == nil }

// Format returns the command's own format that is requested, or "".
func (f *OutputFlags) Format() string {
	if f.Text() {
		return *f.print.OutputFormat
	}
	return ""
}

// Document prints documents in the requested format. Their commands repeat the user's flags.
func (f *OutputFlags) Document(d *Deps, docs ...runtime.Object) error {
	if *f.print.OutputFormat == "name" {
		docs = named(docs)
	}
	for _, doc := range docs {
		d.repeat(doc)
		document.FillLists(doc)
		shown := doc
		if strings.HasPrefix(*f.print.OutputFormat, "jsonpath") {
			if u, err := wholeNumbers(doc); err == nil {
				shown = u
			}
		}
		// A failing template writes its data three times before its error: do not print it.
		var out bytes.Buffer
		if err := f.printer.PrintObj(shown, &out); err != nil {
			return exit.WithHint(fmt.Errorf("print %s in the format of -o: %w",
				doc.GetObjectKind().GroupVersionKind().Kind, templateError(err)), seeFields)
		}
		var text []byte
		if *f.print.OutputFormat == "json" {
			text = words.VisibleJSON(out.Bytes())
		} else {
			text = []byte(words.Visible(out.String())) // YAML, or a template's part of the document
		}
		if _, err := d.Streams.Out.Write(text); err != nil {
			return fmt.Errorf("write %s: %w", doc.GetObjectKind().GroupVersionKind().Kind, err)
		}
	}
	return nil
}

// named replaces documents by the objects that they are about: -o name prints what kubectl accepts.
func named(docs []runtime.Object) (out []runtime.Object) {
	add := func(kind string, names []string) {
		for _, name := range names {
			out = append(out, &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: kind},
				ObjectMeta: metav1.ObjectMeta{Name: name}})
		}
	}
	for _, doc := range docs {
		switch doc := doc.(type) {
		case interface{ Pods() []string }:
			add("Pod", doc.Pods())
		case interface{ Secrets() []string }:
			add("Secret", doc.Secrets())
		default:
			out = append(out, doc)
		}
	}
	return out
}

// wholeNumbers returns the same document with numbers that a JSONPath prints in full, as for
// kubectl's objects: 13314398617 instead of 1.3314398617e+10.
func wholeNumbers(doc runtime.Object) (*unstructured.Unstructured, error) {
	data, err := json.Marshal(doc)
	if err != nil {
		return nil, err
	}
	u := &unstructured.Unstructured{}
	return u, utiljson.Unmarshal(data, &u.Object)
}

// seeFields is the fix of a wrong path.
const seeFields = "list the fields with -o json"

// templateError returns the cause of a template's error. cli-runtime also repeats the template and
// the document.
func templateError(err error) error {
	text := err.Error()
	for _, kind := range []string{"error executing template ", "error executing jsonpath "} {
		rest, ok := strings.CutPrefix(text, kind)
		quoted, unquotable := strconv.QuotedPrefix(rest)
		if !ok || unquotable != nil {
			continue
		}
		rest, _, _ = strings.Cut(strings.TrimPrefix(rest[len(quoted):], ": "), ". Printing more information")
		rest = strings.ReplaceAll(strings.TrimPrefix(rest, "Error executing template: "), " in type interface {}",
			" of a value that is not an object")
		return errors.New(rest)
	}
	for _, kind := range []string{"error parsing jsonpath ", "error parsing template ", "error reading --template "} {
		if rest, ok := strings.CutPrefix(text, kind); ok {
			if i := strings.LastIndex(rest, ", "); i >= 0 {
				return errors.New(rest[i+len(", "):])
			}
		}
	}
	return err
}

// repeat adds the user's flags to a document's commands, and a context other than the current one
// to the document.
func (d *Deps) repeat(doc any) {
	if r, ok := doc.(interface{ Repeat(p words.Printer) }); ok {
		r.Repeat(d.Words())
	}
	if c, ok := doc.(interface{ InContext(name string) }); ok {
		c.InContext(d.foreignContext())
	}
}
