// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"reflect"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
)

// Rows that differ in anything are not the same: otherwise a reporter would go on saying the old one.
func TestSameRow(t *testing.T) {
	full := func() *api.NodeStatusReport {
		at := metav1.NewTime(start)
		cells := func() []api.ObservedNodeStatusReport {
			return []api.ObservedNodeStatusReport{{HostID: "a", Status: "DOWN", State: "LEAVING", Since: new(at)}}
		}
		return &api.NodeStatusReport{ObservedNodes: cells(), Error: new("e"), LastRow: &api.LastRow{HostID: "l", ObservedNodes: cells()}, Fault: "f", HostID: "h",
			OperationMode: "m", OwnsTokens: new(true), ScyllaVersion: "v", LegacyTopology: true, Complete: true, Coordinator: "c", Group0ID: "g", RepairBased: []string{"r"},
			Places:     []api.NodePlace{{HostID: "a", Datacenter: "d", Rack: "k"}},
			Operations: []api.NodeOperation{{Type: "t", State: "s", HostID: "o", Error: "e"}}, Heartbeat: &api.ReportHeartbeat{Port: 1, Fingerprint: "p"},
			Process: &api.ScyllaDBProcess{State: "s", ExitStatus: new(int32(1)), Ended: new(at)}, DiskUsedPercent: new(int32(1)), JoinedPercent: new(int32(1)), VnodeKeyspaces: new(true)}
	}
	if !sameRow(full(), full()) || !sameRow(&api.NodeStatusReport{}, &api.NodeStatusReport{}) {
		t.Error("rows of the same words are not the same")
	}
	changes := 0
	change(reflect.ValueOf(full()).Elem(), "", func(path string, do func(row reflect.Value)) {
		changes++
		row := full()
		do(reflect.ValueOf(row).Elem())
		if sameRow(row, full()) || sameRow(full(), row) {
			t.Errorf("a row with another %s is the same", path)
		}
	})
	if want := 25; changes < want {
		t.Errorf("%d changes were tried, want at least %d", changes, want)
	}
}

// change calls try with each way to change a value: each text, number and truth in it, and each pointer and list that may be empty.
func change(v reflect.Value, path string, try func(path string, do func(reflect.Value))) {
	set := func(do func(reflect.Value)) { try(path, do) }
	if _, is := v.Interface().(metav1.Time); is {
		set(func(v reflect.Value) { v.Set(reflect.ValueOf(metav1.NewTime(start.Add(time.Second)))) })
		return
	}
	switch v.Kind() {
	case reflect.String:
		set(func(v reflect.Value) { v.SetString("other") })
	case reflect.Bool:
		set(func(v reflect.Value) { v.SetBool(!v.Bool()) })
	case reflect.Int32:
		set(func(v reflect.Value) { v.SetInt(v.Int() + 1) })
	case reflect.Pointer:
		if v.IsNil() { // compared as a whole
			set(func(v reflect.Value) { v.Set(reflect.New(v.Type().Elem())) })
			return
		}
		set(func(v reflect.Value) { v.SetZero() })
		change(v.Elem(), path, func(path string, do func(reflect.Value)) { try(path, func(v reflect.Value) { do(v.Elem()) }) })
	case reflect.Slice:
		set(func(v reflect.Value) { v.SetZero() })
		change(v.Index(0), path, func(path string, do func(reflect.Value)) { try(path, func(v reflect.Value) { do(v.Index(0)) }) })
	case reflect.Struct:
		for i := range v.NumField() {
			change(v.Field(i), path+"."+v.Type().Field(i).Name, func(path string, do func(reflect.Value)) { try(path, func(v reflect.Value) { do(v.Field(i)) }) })
		}
	default:
		panic("a row has a " + v.Kind().String() + " at " + path)
	}
}
