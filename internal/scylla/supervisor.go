// SPDX-License-Identifier: Apache-2.0

package scylla

import (
	"context"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
)

// DefaultSupervisorURL is the address of the supervisord of ScyllaDB's image, for any container of
// the Pod (dist/docker/etc/supervisord.conf).
const DefaultSupervisorURL = "http://127.0.0.1:9001/RPC2"

// supervisorTimeout limits the query: supervisord answers from memory, and the row must not wait
// for it.
const supervisorTimeout = time.Second

// getProcessInfo is the only call that is ever sent to supervisord: the same port can stop
// ScyllaDB. The program is named scylla in every branch
// (dist/docker/etc/supervisord.conf.d/scylla-server.conf).
const getProcessInfo = `<?xml version="1.0"?><methodCall><methodName>supervisor.getProcessInfo</methodName>` +
	`<params><param><value><string>scylla</string></value></param></params></methodCall>`

// endedProcess returns how ScyllaDB's process in its container ended; nil if it runs or supervisord
// does not respond.
func endedProcess(ctx context.Context, supervisor *Client) *api.ScyllaDBProcess {
	var out *api.ScyllaDBProcess
	err := supervisor.WithTimeout(supervisorTimeout).send(ctx, http.MethodPost, "", getProcessInfo,
		func(b io.Reader) (err error) {
			out, err = decodeProcess(b)
			return err
		})
	if err != nil {
		return nil
	}
	return out
}

// decodeProcess decodes a response of supervisor.getProcessInfo. Supervisord keeps the exit status
// until it restarts the process, and prints 0 for none. For a process that ended within its first
// second it has no exit status (supervisor/process.py, finish and spawn).
func decodeProcess(b io.Reader) (*api.ScyllaDBProcess, error) {
	data, err := limitValue.Read(b, theAnswer)
	if err != nil {
		return nil, err
	}
	var answer struct {
		Members []struct {
			Name string `xml:"name"`
			Text string `xml:"value>string"`
			Int  string `xml:"value>int"`
		} `xml:"params>param>value>struct>member"`
	}
	if err := xml.Unmarshal(data, &answer); err != nil {
		return nil, err
	}
	out, numbers := &api.ScyllaDBProcess{}, map[string]int64{}
	for _, m := range answer.Members {
		if m.Name == "statename" {
			out.State = m.Text
		} else if n, err := strconv.ParseInt(m.Int, 10, 32); err == nil {
			numbers[m.Name] = n
		}
	}
	ended := numbers["stop"] > 0
	switch out.State {
	case api.ProcessExited, api.ProcessStopped:
		if !ended {
			return nil, nil // not started yet
		}
		out.ExitStatus = new(int32(numbers["exitstatus"]))
	case api.ProcessFatal, api.ProcessBackoff:
	case api.ProcessStarting, api.ProcessRunning:
		if !ended {
			return nil, nil
		}
	default:
		return nil, fmt.Errorf("process has state %.80q", out.State)
	}
	if ended {
		at := metav1.NewTime(time.Unix(numbers["stop"], 0).UTC())
		out.Ended = &at
	}
	return out, nil
}
