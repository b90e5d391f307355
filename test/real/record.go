// SPDX-License-Identifier: Apache-2.0

package real

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"runtime"
	"slices"
	"strings"
	"time"
)

// Recorder runs situations and keeps what the nodes say.
type Recorder struct {
	engine Engine
	say    io.Writer
	began  time.Time
	// tick is the time between two looks, and a second of ScyllaDB's: a simulated one may run faster.
	tick time.Duration
	mask *Mask

	numbers map[string]int    // of nodes, for their addresses
	ids     map[string]string // host IDs by node
	running []string
	state   map[string]Answer // the newest by node and path
	now     *Situation
}

// NewRecorder returns a recorder that looks at the nodes once in a tick.
func NewRecorder(e Engine, m *Mask, say io.Writer, tick time.Duration) *Recorder {
	return &Recorder{engine: e, mask: m, say: say, began: time.Now(), tick: tick,
		numbers: map[string]int{}, ids: map[string]string{}, state: map[string]Answer{}}
}

// Record runs the situations one after the other. A step that fails ends its situation, and the next one begins: there is always a
// recording. The error is of the engine, which cannot even describe itself.
func (r *Recorder) Record(ctx context.Context, image string, situations []Scene) (*Recording, error) {
	about, digest, err := r.engine.About(ctx)
	if err != nil {
		return nil, fmt.Errorf("ask the engine: %w", err)
	}
	out := &Recording{Format: Format, Image: image[strings.LastIndexByte(image, '/')+1:], Digest: digest, Engine: about, Architecture: runtime.GOARCH}
	for _, scene := range situations {
		s := &Situation{Name: scene.Name, Answers: []Answer{}}
		r.now = s
		clear(r.state) // each situation has its own answers
		out.Situations = append(out.Situations, s)
		failed := false
		for _, step := range scene.Steps {
			if failed && !step.always {
				continue
			}
			failed = r.do(ctx, step) != nil || failed
		}
		for _, node := range r.running {
			if logs, err := r.engine.Logs(context.WithoutCancel(ctx), node); err == nil {
				s.Logs = append(s.Logs, Log{Node: node, Exit: -1, Lines: logs})
			}
		}
		if a, _ := s.Last(firstNode, "/storage_service/scylla_release_version"); a.Status == 200 {
			out.Release = strings.Trim(a.Body, `"`)
		}
		if a, ok := s.Last(firstNode, simulated); ok {
			out.Simulated = a.Body == "yes"
		}
	}
	return out, nil
}

func (r *Recorder) do(ctx context.Context, step Do) error {
	began := r.since()
	err := ctx.Err()
	if err == nil {
		err = step.do(ctx, r)
	}
	done := Step{At: began, Took: r.since() - began, Do: step.say}
	mark := "ok"
	if err != nil {
		done.Error, mark = err.Error(), "FAILED: "+err.Error()
	}
	r.now.Steps = append(r.now.Steps, done)
	fmt.Fprintf(r.say, "%6.1fs %-22s %-58s %s\n", r.since(), r.now.Name, step.say, mark)
	return err
}

func (r *Recorder) since() float64 {
	return float64(time.Since(r.began)*1000/r.tick) / 1000
}

// note keeps an answer if it is new; final also keeps new bodies of restless paths.
func (r *Recorder) note(node string, a Answer, final bool) {
	old, has := r.state[node+" "+a.Path]
	same := old.Status == a.Status && (old.Body == a.Body || !final && slices.Contains(restless, a.Path))
	if has && same && !strings.HasPrefix(a.Path, "volume ") {
		return
	}
	a.At, a.Node = r.since(), node
	r.state[node+" "+a.Path] = a
	r.now.Answers = append(r.now.Answers, a)
}

// take keeps what a probe printed.
func (r *Recorder) take(node string, res Result, final bool) error {
	var answers []Answer
	if err := json.Unmarshal([]byte(res.Out), &answers); err != nil {
		r.note(node, Answer{Path: "container", Status: res.Exit, Body: "does not answer"}, final)
		return errors.Join(fmt.Errorf("the probe on %s: %w", node, err), res.failed())
	}
	r.note(node, Answer{Path: "container", Body: "answers"}, final)
	for _, a := range answers {
		if a.Path == "/storage_service/hostid/local" && a.Status == 200 && strings.Trim(a.Body, `"0-`) != "" {
			r.ids[node] = strings.Trim(a.Body, `"`)
			r.mask.Name(r.ids[node], "host-"+node)
		}
		r.note(node, a, final)
	}
	return nil
}

// look takes a snapshot of every running node.
func (r *Recorder) look(ctx context.Context, final bool) error {
	var errs []error
	for _, node := range r.running {
		errs = append(errs, r.take(node, r.engine.Probe(ctx, node, "snapshot"), final))
	}
	return errors.Join(errs...)
}

// last is the newest answer of a node's path.
func (r *Recorder) last(node, path string) Answer { return r.state[node+" "+path] }

// address is the address of a place. A node stands in the place of its first letter: c2 replaces c with its address.
func (r *Recorder) address(place string) string {
	place = place[:1]
	if r.numbers[place] == 0 {
		r.numbers[place] = len(r.numbers) + 1
	}
	a := r.engine.Address(r.numbers[place])
	r.mask.Name(a, "addr-"+place)
	return a
}

// start starts a node in a place; {a} is the address of the first node, {id of NODE} a host ID.
func (r *Recorder) start(ctx context.Context, node, place string, args []string) error {
	line := slices.Clone(nodeFlags)
	for _, a := range args {
		for other, id := range r.ids {
			a = strings.ReplaceAll(a, "{id of "+other+"}", id)
		}
		line = append(line, strings.ReplaceAll(a, "{a}", r.address(firstNode)))
	}
	maps.DeleteFunc(r.state, func(key string, _ Answer) bool { return strings.HasPrefix(key, node+" ") })
	if err := r.engine.Start(ctx, node, r.address(place), line); err != nil {
		return err
	}
	r.running = append(r.running, node)
	return nil
}

// end ends a node and keeps its log and exit code.
func (r *Recorder) end(ctx context.Context, node string, kill bool) error {
	i := slices.Index(r.running, node)
	if i < 0 {
		return fmt.Errorf("%s does not run", node)
	}
	r.running = slices.Delete(r.running, i, i+1)
	logs, exit, err := r.engine.End(ctx, node, kill)
	r.now.Logs = append(r.now.Logs, Log{Node: node, Exit: exit, Lines: logs})
	return err
}
