// SPDX-License-Identifier: Apache-2.0

package real

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Scene is a situation to record. Later ones go on with the cluster of earlier ones.
type Scene struct {
	Name  string
	Steps []Do
}

// Do is a step of a situation. The step that always comes does so after a failure, too.
type Do struct {
	say    string
	do     func(ctx context.Context, r *Recorder) error
	always bool
}

const firstNode = "a"

// Every node has one shard and 1 GB, and its cluster's settings are the image's.
var nodeFlags = []string{"--smp=1", "--memory=1G", "--overprovisioned=1", "--developer-mode=1", "--disable-version-check"}

const (
	nobody  = "00000000-0000-4000-8000-000000000000"
	replace = "--replace-node-first-boot="
	seed    = "--seeds={a}"
	// patience is the longest wait for a condition; the recording goes on after it.
	patience = 4 * time.Minute
)

// Situations are what is recorded, in this order: a, b and c are the cluster, d to k come and go, g is a cluster of its own.
var Situations = []Scene{
	{"first start", []Do{
		volume("a"), run("a"), until("a is NORMAL and serves CQL", normal("a")), look(), volume("a"),
	}},
	{"unflushed kill", []Do{
		end("a", "SIGKILL"), volume("a"),
	}},
	{"replay", []Do{
		run("a"), until("a is NORMAL and serves CQL", normal("a")), end("a", "SIGKILL"), volume("a"),
		always(run("a")), until("a is NORMAL and serves CQL", normal("a")),
	}},
	{"join", []Do{
		run("b", seed), until("b is NORMAL and serves CQL", normal("b")), until("a sees b UP", sees("a", "b", "live")),
		run("c", seed), until("c is NORMAL and serves CQL", normal("c")), until("a sees c UP", sees("a", "c", "live")),
	}},
	{"flush", []Do{
		post("b", "/storage_service/keyspace_flush/system?cf=local"), volume("b"),
	}},
	{"cancelled join", []Do{
		end("c", "SIGKILL"), until("a and b see c DOWN", sees("a", "c", "down"), sees("b", "c", "down")), run("d", seed),
		until("d ends or fails", says("d", "Startup failed", "notification of being banned", "required nodes are dead")),
		watch(15 * time.Second), end("d", "SIGTERM"), volume("d"),
	}},
	{"ban", []Do{
		run("d", seed), until("d ends or fails again", says("d", "Startup failed", "being banned", "removed from the cluster")),
		watch(5 * time.Second), always(end("d", "SIGTERM")),
	}},
	{"refused replace", []Do{
		run("e", seed, replace+nobody), until("e fails", says("e", "Startup failed", "not found")), watch(5 * time.Second),
		always(end("e", "SIGTERM")), volume("e"), run("f", seed, replace+"{id of b}"),
		until("f fails", says("f", "Startup failed", "alive node")), watch(5 * time.Second), always(end("f", "SIGTERM")), volume("f"),
	}},
	{"replace", []Do{
		run("c2", seed, replace+"{id of c}"), until("c2 is NORMAL and serves CQL", normal("c2")),
		until("a sees c2 UP", sees("a", "c2", "live")), look(),
	}},
	{"replaced node returns", []Do{
		runAt("x", "c", seed), watch(30 * time.Second), always(end("c", "SIGTERM")),
	}},
	{"drain", []Do{
		command("c2", "nodetool", "drain"), until("a sees c2 DOWN", sees("a", "c2", "down")), end("c2", "SIGTERM"), volume("c2"),
		always(run("c2", seed)), until("c2 is NORMAL and serves CQL", normal("c2")),
	}},
	{"maintenance mode", []Do{
		end("b", "SIGTERM"), run("b", seed, "--maintenance-mode=true"), watch(20 * time.Second),
	}},
	{"after maintenance mode", []Do{
		always(end("b", "SIGTERM")), always(run("b", seed)), until("b is NORMAL and serves CQL", normal("b")), until("a sees b UP", sees("a", "b", "live")),
	}},
	{"decommission", []Do{
		command("c2", "nodetool", "decommission"), look(), end("c2", "SIGTERM"), volume("c2"), run("c2", seed),
		until("c2 fails", says("c2", "Startup failed", "was decommissioned")), always(end("c2", "SIGTERM")),
	}},
	{"killed join", []Do{
		run("h", seed), soon("h", "coordinator accepted request to join"), end("h", "SIGKILL"), run("h", seed),
		watch(40 * time.Second), always(end("h", "SIGTERM")),
	}},
	{"clone", []Do{
		end("b", "SIGTERM"), clone("b", "k"), run("b", seed), until("b is NORMAL and serves CQL", normal("b")),
		run("k", seed), watch(30 * time.Second), end("k", "SIGKILL"), watch(5 * time.Second),
		always(end("b", "SIGTERM")), always(end("a", "SIGTERM")),
	}},
	{"first credential", []Do{
		run("g", "--authenticator=PasswordAuthenticator", "--authorizer=CassandraAuthorizer", "--maintenance-socket=workdir"),
		until("g is NORMAL and serves CQL", normal("g")), watch(10 * time.Second),
		probe("g", "cql"), look(), end("g", "SIGTERM"),
	}},
}

func run(node string, args ...string) Do { return runAt(node, node, args...) }

func runAt(place, node string, args ...string) Do {
	return Do{say: strings.Join(append([]string{"start", node}, args...), " "), do: func(ctx context.Context, r *Recorder) error {
		return r.start(ctx, node, place, args)
	}}
}

func end(node, signal string) Do {
	return Do{say: "end " + node + " by " + signal, do: func(ctx context.Context, r *Recorder) error {
		return r.end(ctx, node, signal == "SIGKILL")
	}}
}

// always is a step that comes after a failure, too: it cleans up.
func always(d Do) Do {
	d.always = true
	return d
}

func look() Do { return watch(0) }

// watch looks at all nodes for a time.
func watch(d time.Duration) Do {
	return Do{say: "look for " + d.String(), do: func(ctx context.Context, r *Recorder) error {
		return r.wait(ctx, time.Duration(float64(d)*r.tick.Seconds()), func(context.Context) bool { return false })
	}}
}

type condition func(ctx context.Context, r *Recorder) bool

func until(say string, all ...condition) Do {
	return Do{say: "wait until " + say, do: func(ctx context.Context, r *Recorder) error {
		met := false
		err := r.wait(ctx, patience, func(ctx context.Context) bool {
			met = true
			for _, is := range all {
				met = met && is(ctx, r)
			}
			return met
		})
		if !met {
			return errors.Join(fmt.Errorf("not met within %s", patience), err)
		}
		return nil
	}}
}

// soon waits for a text in a node's log, without a look: what comes after it may take a second. A node that has started is too late.
func soon(node, text string) Do {
	return Do{say: "wait until " + node + " logs " + text, do: func(ctx context.Context, r *Recorder) error {
		for deadline := time.Now().Add(patience); time.Now().Before(deadline) && ctx.Err() == nil; {
			switch {
			case says(node, "initialization completed")(ctx, r):
				return fmt.Errorf("%s has joined already", node)
			case says(node, text)(ctx, r):
				return nil
			}
			select {
			case <-ctx.Done():
			case <-time.After(r.tick / 10):
			}
		}
		return fmt.Errorf("not met within %s", patience)
	}}
}

// wait looks at all nodes until a condition is met, and once more at the end. A container that does not answer for long has ended.
func (r *Recorder) wait(ctx context.Context, limit time.Duration, met func(context.Context) bool) error {
	silent := 0
	for deadline := time.Now().Add(limit); time.Now().Before(deadline) && ctx.Err() == nil && silent < 15 && len(r.running) > 0; {
		silent++
		if r.look(ctx, false) == nil {
			silent = 0
		}
		if met(ctx) {
			break
		}
		select {
		case <-ctx.Done():
		case <-time.After(r.tick):
		}
	}
	return r.look(ctx, true)
}

func normal(node string) condition {
	return func(ctx context.Context, r *Recorder) bool {
		return mode(node, "NORMAL")(ctx, r) && r.last(node, "port 9042").Body == "open"
	}
}

func mode(node string, names ...string) condition {
	return func(_ context.Context, r *Recorder) bool {
		return slices.Contains(names, strings.Trim(r.last(node, "/storage_service/operation_mode").Body, `"`))
	}
}

// sees is met where the list live or down of one node has the address of another.
func sees(node, other, list string) condition {
	return func(_ context.Context, r *Recorder) bool {
		return strings.Contains(r.last(node, "/gossiper/endpoint/"+list).Body, `"`+r.address(other)+`"`)
	}
}

func says(node string, texts ...string) condition {
	return func(ctx context.Context, r *Recorder) bool {
		logs, _ := r.engine.Logs(ctx, node)
		_, ok := (&Situation{Logs: []Log{{Node: node, Lines: logs}}}).Says(node, texts...)
		return ok
	}
}

func volume(node string) Do {
	return Do{say: "query the volume of " + node, do: func(ctx context.Context, r *Recorder) error {
		return r.take(node, r.engine.OnVolume(ctx, node, "volume"), true)
	}}
}

func probe(node string, args ...string) Do {
	return Do{say: strings.Join(append([]string{"ask", node}, args...), " "), do: func(ctx context.Context, r *Recorder) error {
		return r.take(node, r.engine.Probe(ctx, node, args...), true)
	}}
}

func post(node, path string) Do { return probe(node, "post", path) }

func command(node string, args ...string) Do {
	say := strings.Join(args, " ")
	return Do{say: say + " on " + node, do: func(ctx context.Context, r *Recorder) error {
		if !slices.Contains(r.running, node) {
			return fmt.Errorf("%s does not run", node)
		}
		res := r.engine.Exec(ctx, node, args...)
		r.note(node, Answer{Path: say, Status: res.Exit, Body: res.Out + res.Err}, true)
		return r.look(ctx, true)
	}}
}

func clone(from, to string) Do {
	return Do{say: "copy the volume of " + from + " to " + to, do: func(ctx context.Context, r *Recorder) error {
		return r.engine.Clone(ctx, from, to)
	}}
}
