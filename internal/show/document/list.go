// SPDX-License-Identifier: Apache-2.0

package document

import (
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// Item is a document that a List contains.
type Item interface {
	Repeat(p words.Printer)
	Pods() []string
}

// List is the document of a command, also with one item.
type List[T Item] struct {
	metav1.TypeMeta `json:",inline"`
	Items           []T `json:"items"`
}

// NewList returns a list of this kind.
func NewList[T Item](kind string, items ...T) *List[T] {
	return &List[T]{TypeMeta: metav1.TypeMeta{APIVersion: APIVersion, Kind: kind}, Items: items}
}

// Repeat adds the given flags to every command of the items.
func (l *List[T]) Repeat(p words.Printer) {
	for _, item := range l.Items {
		item.Repeat(p)
	}
}

// InContext is Header.InContext of every item that has a Header.
func (l *List[T]) InContext(name string) {
	for _, item := range l.Items {
		if c, ok := any(item).(interface{ InContext(name string) }); ok {
			c.InContext(name)
		}
	}
}

// Pods returns the names of all Pods, for -o name.
func (l *List[T]) Pods() (names []string) {
	for _, item := range l.Items {
		names = append(names, item.Pods()...)
	}
	return names
}

// DeepCopyObject implements runtime.Object for the printers of cli-runtime.
func (l *List[T]) DeepCopyObject() runtime.Object { return DeepCopy(l) }

// FillLists replaces every nil list of a document by an empty one: JSON has [] then, not null.
func FillLists(doc any) { fillLists(reflect.ValueOf(doc)) }

func fillLists(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			fillLists(v.Elem())
		}
	case reflect.Struct:
		for field, value := range v.Fields() {
			if field.IsExported() {
				fillLists(value)
			}
		}
	case reflect.Slice:
		if v.IsNil() && v.CanSet() {
			v.Set(reflect.MakeSlice(v.Type(), 0, 0))
		}
		for i := range v.Len() {
			fillLists(v.Index(i))
		}
	}
}
