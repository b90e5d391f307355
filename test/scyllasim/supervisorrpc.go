// SPDX-License-Identifier: Apache-2.0

package scyllasim

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"time"

	"mvdan.cc/sh/v3/interp"
)

// supervisorAddress is where the image's supervisord listens, for any container of the Pod and without credentials; SCYLLASIM_SUPERVISOR is another one.
const supervisorAddress = "127.0.0.1:9001"

// programName is that of the image's conf.d file.
const programName = "scylla"

// Faults of supervisord.
const (
	faultUnknownMethod = 1
	faultBadName       = 10
	faultBadSignal     = 11
	faultNotRunning    = 70
)

var signalNames = map[string]syscall.Signal{"TERM": syscall.SIGTERM, "KILL": syscall.SIGKILL}

// listen answers XML-RPC until the returned function is called. Where the port is taken, supervisord would end; here other nodes share the machine in tests.
func (s *supervisor) listen(ctx context.Context, address string) (stop func()) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		s.say("WARN supervisord does not listen: %v", err)
		return func() {}
	}
	server := &http.Server{Handler: s, ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(l) }()
	return func() { _ = server.Close() }
}

// ServeHTTP answers supervisor.getProcessInfo and supervisor.signalProcess at /RPC2.
func (s *supervisor) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 64<<10))
	var call struct {
		Method string   `xml:"methodName"`
		Params []string `xml:"params>param>value>string"`
	}
	switch {
	case r.URL.Path != "/RPC2":
		http.NotFound(w, r)
		return
	case err != nil || xml.Unmarshal(body, &call) != nil:
		http.Error(w, "Bad Request", http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "text/xml")
	_, _ = io.WriteString(w, s.answer(call.Method, call.Params))
}

func (s *supervisor) answer(method string, params []string) string {
	named := len(params) > 0 && slices.Contains([]string{programName, programName + ":" + programName}, params[0])
	switch {
	case method == "supervisor.getProcessInfo" && named:
		return rpcValue(s.processInfo().xml(time.Now().Unix()))
	case method == "supervisor.signalProcess" && named && len(params) == 2:
		sig, known := signalNames[params[1]]
		switch {
		case !known:
			return rpcFault(faultBadSignal, "BAD_SIGNAL: "+params[1])
		case !s.signal(sig):
			return rpcFault(faultNotRunning, "NOT_RUNNING")
		}
		return rpcValue("<boolean>1</boolean>")
	case method == "supervisor.getProcessInfo" || method == "supervisor.signalProcess":
		return rpcFault(faultBadName, "BAD_NAME: "+strings.Join(params, " "))
	}
	return rpcFault(faultUnknownMethod, "UNKNOWN_METHOD")
}

func (p processInfo) xml(now int64) string {
	var b strings.Builder
	b.WriteString("<struct>\n")
	for _, m := range []struct {
		name  string
		value any
	}{
		{"name", programName}, {"group", programName}, {"start", p.start}, {"stop", p.stop}, {"now", now}, {"state", processStates[p.state]},
		{"statename", p.state}, {"spawnerr", p.spawnerr}, {"exitstatus", p.exit}, {"logfile", "/dev/stdout"}, {"stdout_logfile", "/dev/stdout"},
		{"stderr_logfile", "/dev/stderr"}, {"pid", map[bool]int{true: 2}[p.state == "STARTING" || p.state == "RUNNING"]}, {"description", p.spawnerr},
	} {
		kind := "int"
		if _, is := m.value.(string); is {
			kind = "string"
		}
		fmt.Fprintf(&b, "<member>\n<name>%s</name>\n<value><%s>%v</%[2]s></value>\n</member>\n", m.name, kind, m.value)
	}
	b.WriteString("</struct>")
	return b.String()
}

const rpcHead = "<?xml version='1.0'?>\n<methodResponse>\n"

func rpcValue(value string) string {
	return rpcHead + "<params>\n<param>\n<value>" + value + "</value>\n</param>\n</params>\n</methodResponse>\n"
}

func rpcFault(number int, text string) string {
	return fmt.Sprintf("%s<fault>\n<value><struct>\n<member>\n<name>faultCode</name>\n<value><int>%d</int></value>\n</member>\n"+
		"<member>\n<name>faultString</name>\n<value><string>%s</string></value>\n</member>\n</struct></value>\n</fault>\n</methodResponse>\n", rpcHead, number, text)
}

// toolSupervisorctl is `supervisorctl signal TERM|KILL scylla`: ScyllaDB ends within its container, which runs on.
func toolSupervisorctl(ctx context.Context, args []string, hc interp.HandlerContext) error {
	if len(args) != 3 || args[0] != "signal" {
		return errors.New("only signal TERM scylla and signal KILL scylla are simulated")
	}
	address := supervisorAddress
	if a := hc.Env.Get("SCYLLASIM_SUPERVISOR").String(); a != "" {
		address = a
	}
	call := fmt.Sprintf("<?xml version='1.0'?><methodCall><methodName>supervisor.signalProcess</methodName><params><param><value><string>%s</string></value></param>"+
		"<param><value><string>%s</string></value></param></params></methodCall>", args[2], args[1])
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+address+"/RPC2", strings.NewReader(call))
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	if err == nil && bytes.Contains(body, []byte("<fault>")) {
		err = fmt.Errorf("%s: ERROR (%s)", args[2], body)
	}
	return err
}
