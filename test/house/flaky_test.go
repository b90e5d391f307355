// SPDX-License-Identifier: Apache-2.0

package house

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// shortest is the least time after which a test may give up: a loaded machine stops a process for many seconds.
const shortest = time.Minute

// flaky are the rules for test files. A rule does not apply inside a synctest bubble, where time is exact, unless always is set.
var flaky = map[string]struct {
	always bool
	fix    string
	// except are files, or functions of files as "file:function", with the reason. An entry that excuses nothing is an error.
	except map[string]string
}{
	"real time": {
		fix: "use testing/synctest, or wait for the condition with wait.PollUntilContextTimeout",
		except: map[string]string{
			"internal/agent/barrier/relay_test.go:TestWithoutARelayTheViewOfTheAPIServerOpens": "an answer in the table that is given in the bubble",
			"internal/kube/apiserver_test.go:TestRealAPIServer":                                "takes signals that are on their way; one that comes later makes no check fail",
			"test/e2e/e2e_test.go:.waitFor":                                                    "the one wait helper of the end-to-end tests",
		},
	},
	"short timeout": {
		fix: "give it a minute at least, or use testing/synctest; to end a call that hangs, cancel its context once it hangs",
		except: map[string]string{
			"internal/kube/live_test.go:TestLiveEndsWithItsContext":                                          mustExpire,
			"internal/peer/viewwire/viewwire_test.go:TestWhatTheClientTakes":                                 mustExpire,
			"plugin/interrupt_test.go:TestAttack6InterruptWhileReadingSavedObjects":                          mustExpire,
			"test/cluster/internal/supervisor/supervisor_test.go:TestRunReturnsOutputAndFailsWithTheProgram": mustExpire,
		},
	},
	"elapsed time": {
		fix:    "measure in a synctest bubble, or count what happens",
		except: map[string]string{"test/e2e/e2e_test.go:.longDown": "waits until the age that a replacement requires, which ScyllaDB's clock tells"},
	},
	"HasWaiters": {
		always: true,
		fix:    "use testing/synctest: a goroutine may have another timer than the one that is meant",
	},
	"freed port": {
		fix: "keep the listener, or use an address that nothing else uses",
	},
	"process in a poll": {
		fix: "watch or list with a client: a process for each look is what overloads a machine",
		except: map[string]string{
			"test/e2e/dashboard_test.go":     "only tmux knows what is on its screen",
			"test/e2e/faults_test.go:.finds": "what the shipped check says is what it waits for, once a second",
		},
	},
	"compiler": {
		always: true,
		fix:    "run the test binary itself as the program: what compiles takes minutes on a loaded machine",
		except: map[string]string{
			"controller/limit_test.go":   "measures the shipped program under the shipped limit of memory",
			"test/cluster/main_test.go":  "the program that runs in Pods",
			"test/e2e/doors":             "runs each documented command as a shell does",
			"test/e2e/dashboard_test.go": "the shipped program, on a terminal",
			"test/e2e/install_test.go":   "the shipped program in a Pod",
			"test/e2e/relays_test.go":    "the shipped program in a Pod",
			"test/e2e/script_test.go":    "the shipped program, in scripts",
			"test/house/house_test.go":   "go list, which compiles nothing",
			"test/house/release":         "what a release has, and go install by version",
		},
	},
}

const mustExpire = "the deadline is what is tested: an early end is what it wants, and nothing waits for less"

// finding is a violation. The function is the declared one that it is in.
type finding struct {
	file, function, rule, what string
	line                       int
}

func (f finding) String() string {
	return fmt.Sprintf("%s:%d: %s: %s: %s", f.file, f.line, f.rule, f.what, flaky[f.rule].fix)
}

// TestNothingDependsOnTheSpeedOfTheMachine applies the rules to all test files.
func TestNothingDependsOnTheSpeedOfTheMachine(t *testing.T) {
	packages := map[string][]source{}
	for _, root := range roots {
		err := filepath.WalkDir(filepath.Join("../..", root), func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(name, "_test.go") {
				return err
			}
			s, err := parse(strings.TrimPrefix(filepath.ToSlash(name), "../../"), nil)
			packages[path.Dir(s.name)] = append(packages[path.Dir(s.name)], s)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	used := map[string]bool{}
	for _, dir := range slices.Sorted(maps.Keys(packages)) {
		for _, f := range violations(packages[dir]) {
			if key, ok := excepted(f); ok {
				used[f.rule+" "+key] = true
			} else {
				t.Error(f)
			}
		}
	}
	for rule, r := range flaky {
		for key, reason := range r.except {
			if !used[rule+" "+key] || reason == "" {
				t.Errorf("exception %q of rule %q excuses nothing or has no reason: remove it", key, rule)
			}
		}
	}
}

func excepted(f finding) (string, bool) {
	for key := range flaky[f.rule].except {
		if key == f.file || strings.HasPrefix(f.file+":"+f.function+".", key+".") || strings.HasPrefix(f.file, key+"/") {
			return key, true
		}
	}
	return "", false
}

type source struct {
	name  string
	ast   *ast.File
	files *token.FileSet
}

func parse(name string, text any) (source, error) {
	s := source{name: name, files: token.NewFileSet()}
	from := name
	if text == nil {
		from = filepath.Join("../..", name)
	}
	var err error
	s.ast, err = parser.ParseFile(s.files, from, text, parser.SkipObjectResolution)
	return s, err
}

// use is one mention of a function's name outside its own declaration: "f", ".method", or "f.closure" for one that f keeps in a variable.
type use struct {
	in       string // the function around it
	bubbled  bool
	polled   bool // within what a wait calls again and again
	function string
	at       ast.Node
	source
}

// violations are those of the test files of one folder.
func violations(files []source) []finding {
	w := &walker{declared: map[string]bool{}, processes: map[string]bool{}, constants: map[string]ast.Expr{}}
	for _, s := range files {
		for _, d := range s.ast.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				w.declared[declared(d)] = true
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					if v, ok := spec.(*ast.ValueSpec); ok && len(v.Values) == len(v.Names) {
						for i, n := range v.Names {
							w.constants[n.Name] = v.Values[i]
						}
					}
				}
			}
		}
	}
	for _, s := range files {
		w.source = s
		for _, d := range s.ast.Decls {
			w.function, w.elapsed = "", map[string]bool{}
			if f, ok := d.(*ast.FuncDecl); ok {
				w.function = declared(f)
				w.ports(f)
			}
			w.visit(d)
		}
	}
	// A function runs in bubbles only if every use of it does; tests, and what nothing uses, do not.
	inside := map[string]bool{}
	for _, u := range w.uses {
		inside[u.function] = true
	}
	for changed := true; changed; {
		changed = false
		for _, u := range w.uses {
			if inside[u.function] && !u.bubbled && !inside[u.in] {
				inside[u.function], changed = false, true
			}
		}
	}
	w.polledProcesses()
	found := slices.DeleteFunc(w.found, func(f finding) bool { return inside[f.function] && !flaky[f.rule].always })
	slices.SortStableFunc(found, func(a, b finding) int { return cmp.Or(cmp.Compare(a.file, b.file), a.line-b.line) })
	return found
}

type walker struct {
	source
	declared  map[string]bool // functions of the folder, as in use
	constants map[string]ast.Expr
	function  string          // that is visited
	bubbles   int             // around the node
	polls     int             // around the node
	processes map[string]bool // functions that start one
	elapsed   map[string]bool
	uses      []use
	found     []finding
}

func (w *walker) add(n ast.Node, rule, what string) {
	if w.bubbles == 0 || flaky[rule].always {
		w.found = append(w.found, finding{w.name, w.function, rule, what, w.files.Position(n.Pos()).Line})
	}
}

func (w *walker) visit(n ast.Node) {
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Ident:
			w.use(n, n.Name)
		case *ast.SelectorExpr:
			w.use(n, "."+n.Sel.Name)
			w.visit(n.X)
			return false
		case *ast.KeyValueExpr:
			if _, field := n.Key.(*ast.Ident); field {
				w.visit(n.Value)
				return false
			}
		case *ast.Field:
			w.visit(n.Type)
			return false
		case *ast.CallExpr:
			w.call(n)
			if slices.Contains([]string{"synctest.Test", "inBubble"}, called(n)) {
				w.bubbles++
				for _, a := range n.Args {
					w.visit(a)
				}
				w.bubbles--
				return false
			}
			if slices.Contains([]string{"waitFor", "WaitFor", "PollUntilContextTimeout"}, last(n)) {
				w.visit(n.Fun)
				w.polls++
				for _, a := range n.Args {
					w.visit(a)
				}
				w.polls--
				return false
			}
		case *ast.AssignStmt:
			for i, r := range n.Rhs {
				id, ok := n.Lhs[i].(*ast.Ident)
				if f, closure := r.(*ast.FuncLit); ok && closure && w.bubbles == 0 {
					outer := w.function
					w.function += "." + id.Name
					w.declared[w.function] = true
					w.visit(f.Body)
					w.function = outer
					continue
				}
				if ok && w.bubbles == 0 && mentions(r, "time.Since") {
					w.elapsed[id.Name] = true
				}
				w.visit(r)
			}
			return false
		case *ast.BinaryExpr:
			if !slices.Contains([]token.Token{token.LSS, token.GTR, token.LEQ, token.GEQ}, n.Op) {
				break
			}
			for _, side := range []ast.Expr{n.X, n.Y} {
				if id, ok := side.(*ast.Ident); mentions(side, "time.Since") || ok && w.elapsed[id.Name] {
					w.add(n, "elapsed time", "compares time.Since")
				}
			}
		}
		return true
	})
}

// use notes the function that a name stands for in the function that is visited.
func (w *walker) use(at ast.Node, name string) {
	for around := w.function; ; {
		if full := around + "." + name; around != "" && w.declared[full] {
			name = full
			break
		}
		i := strings.LastIndex(around, ".")
		if i <= 0 {
			break
		}
		around = around[:i]
	}
	if w.declared[name] && name != w.function {
		w.uses = append(w.uses, use{w.function, w.bubbles > 0, w.polls > 0, name, at, w.source})
	}
}

// declared is the name of a function as in use.
func declared(f *ast.FuncDecl) string {
	if f.Recv != nil {
		return "." + f.Name.Name
	}
	return f.Name.Name
}

func (w *walker) call(c *ast.CallExpr) {
	name := called(c)
	arg := func(i int) ast.Expr {
		if i < len(c.Args) {
			return c.Args[i]
		}
		return nil
	}
	switch name {
	case "time.Sleep", "time.After", "time.NewTicker", "time.NewTimer", "time.Tick":
		w.add(c, "real time", name)
	case "context.WithTimeout", "context.WithTimeoutCause":
		w.limit(c, name, arg(1))
	case "wait.PollUntilContextTimeout":
		w.limit(c, name, arg(2))
	case "context.WithDeadline", "context.WithDeadlineCause":
		if at, ok := arg(1).(*ast.CallExpr); ok && called(at) == "time.Now().Add" {
			w.limit(c, name, at.Args[0])
		}
	case "time.Now().After", "time.Now().Before":
		w.add(c, "real time", "a loop until "+name)
	case "exec.Command", "exec.CommandContext":
		w.processes[w.function] = true
		if w.polls > 0 {
			w.add(c, "process in a poll", name)
		}
		if text(arg(strings.Count(name, "Context"))) == "go" {
			w.add(c, "compiler", name)
		}
	case "image.BuildBinary":
		w.add(c, "compiler", name)
	}
	if s, ok := c.Fun.(*ast.SelectorExpr); ok && s.Sel.Name == "HasWaiters" {
		w.add(c, "HasWaiters", "a fake clock's waiters")
	}
}

// polledProcesses finds, in a poll, the use of a function that starts a process, itself or by another.
func (w *walker) polledProcesses() {
	for changed := true; changed; {
		changed = false
		for _, u := range w.uses {
			if w.processes[u.function] && !w.processes[u.in] {
				w.processes[u.in], changed = true, true
			}
		}
	}
	for _, u := range w.uses {
		if u.polled && w.processes[u.function] {
			w.found = append(w.found, finding{u.name, u.in, "process in a poll", u.function, u.files.Position(u.at.Pos()).Line})
		}
	}
}

func (w *walker) limit(c *ast.CallExpr, name string, limit ast.Expr) {
	if d, known := w.duration(limit, 0); known && d < float64(shortest) {
		w.add(c, "short timeout", fmt.Sprintf("%s of %s", name, time.Duration(d)))
	}
}

// duration is the value of a constant expression.
func (w *walker) duration(e ast.Expr, depth int) (v float64, known bool) {
	units := map[string]time.Duration{"Nanosecond": 1, "Microsecond": time.Microsecond, "Millisecond": time.Millisecond,
		"Second": time.Second, "Minute": time.Minute, "Hour": time.Hour}
	switch e := e.(type) {
	case *ast.BasicLit:
		v, err := strconv.ParseFloat(strings.ReplaceAll(e.Value, "_", ""), 64)
		return v, err == nil
	case *ast.ParenExpr:
		return w.duration(e.X, depth)
	case *ast.SelectorExpr:
		unit, ok := units[e.Sel.Name]
		return float64(unit), ok && name(e.X) == "time"
	case *ast.Ident:
		c, ok := w.constants[e.Name]
		if !ok || depth > 5 {
			return 0, false
		}
		return w.duration(c, depth+1)
	case *ast.BinaryExpr:
		x, okX := w.duration(e.X, depth)
		y, okY := w.duration(e.Y, depth)
		switch e.Op {
		case token.MUL:
			return x * y, okX && okY
		case token.QUO:
			return x / y, okX && okY && y != 0
		case token.ADD:
			return x + y, okX && okY
		case token.SUB:
			return x - y, okX && okY
		}
	}
	return 0, false
}

// ports finds listeners that are closed so that another can have their port: the function closes one whose address it has taken, or returns the address and not the listener.
func (w *walker) ports(f *ast.FuncDecl) {
	listeners, address, leaves := map[string]bool{}, map[string]bool{}, map[string]bool{}
	deferred := map[ast.Node]bool{}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			if c, ok := n.Rhs[0].(*ast.CallExpr); ok && len(n.Rhs) == 1 && slices.Contains([]string{"Listen", "ListenTCP", "ListenPacket", "ListenUDP"}, last(c)) {
				listeners[name(n.Lhs[0])] = true
			}
		case *ast.DeferStmt:
			deferred[n.Call] = true
			if s, ok := n.Call.Fun.(*ast.SelectorExpr); ok && s.Sel.Name == "Close" {
				leaves[name(s.X)] = true
			}
		case *ast.FuncLit:
			// What it closes it closes later.
			ast.Inspect(n, func(n ast.Node) bool { deferred[n] = true; return true })
		case *ast.SelectorExpr:
			if n.Sel.Name == "Addr" && listeners[name(n.X)] {
				address[name(n.X)] = true
			}
		}
		return true
	})
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			if s, ok := n.Fun.(*ast.SelectorExpr); ok && s.Sel.Name == "Close" && address[name(s.X)] && !deferred[n] {
				w.add(n, "freed port", "closes a listener whose address it has taken")
			}
		case *ast.ReturnStmt:
			for l := range address {
				if leaves[l] && mentions(n, l+".Addr") {
					w.add(n, "freed port", "returns a listener's address and closes it")
				}
			}
		}
		return true
	})
}

// name is that of an identifier, or of a chain of selectors and calls without arguments: "time.Now().Add".
func name(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return name(e.X) + "." + e.Sel.Name
	case *ast.CallExpr:
		return name(e.Fun) + "()"
	}
	return ""
}

func called(c *ast.CallExpr) string { return name(c.Fun) }

func last(c *ast.CallExpr) string { n := called(c); return n[strings.LastIndex(n, ".")+1:] }

func text(e ast.Expr) string {
	if l, ok := e.(*ast.BasicLit); ok {
		s, _ := strconv.Unquote(l.Value)
		return s
	}
	return ""
}

// mentions reports whether n contains a call of the function.
func mentions(n ast.Node, function string) (found bool) {
	ast.Inspect(n, func(n ast.Node) bool {
		c, ok := n.(*ast.CallExpr)
		found = found || ok && called(c) == function
		return !found
	})
	return found
}

// TestThePlantedViolationsAreFound: each rule sees what it forbids, says where, and lets pass what it must.
func TestThePlantedViolationsAreFound(t *testing.T) {
	bubble := func(body string) string { return "synctest.Test(t, func(t *testing.T) { " + body + " })" }
	for name, c := range map[string]struct{ body, rest, want string }{
		"a sleep":                       {body: "time.Sleep(time.Second)", want: "real time: time.Sleep"},
		"a deadline of an hour":         {body: "<-time.After(time.Hour)", want: "real time: time.After"},
		"a ticker":                      {body: "_ = time.NewTicker(d)", want: "real time: time.NewTicker"},
		"a timer":                       {body: "_ = time.NewTimer(d)", want: "real time: time.NewTimer"},
		"a tick":                        {body: "_ = time.Tick(d)", want: "real time: time.Tick"},
		"a loop with a deadline":        {body: "for !time.Now().After(end) {}", want: "real time: a loop until time.Now().After"},
		"a sleep in a bubble":           {body: bubble("time.Sleep(time.Second)")},
		"in a helper of bubbles":        {body: bubble("pass()"), rest: "func pass() { time.Sleep(1) }"},
		"in a helper of a helper":       {body: bubble("outer()"), rest: "func outer() { pass() }\nfunc pass() { time.Sleep(1) }"},
		"in a helper of others, too":    {body: bubble("pass()") + "; pass()", rest: "func pass() { time.Sleep(1) }", want: "real time: time.Sleep"},
		"in a method of bubbles":        {body: "w := world{}; pass := w; " + bubble("w.pass()"), rest: "func (world) pass() { time.Sleep(1) }"},
		"in a method of others, too":    {body: bubble("w.pass()") + "; w.pass()", rest: "func (world) pass() { time.Sleep(1) }", want: "real time: time.Sleep"},
		"in a closure of bubbles":       {body: "pass := func() { time.Sleep(1) }; " + bubble("pass()")},
		"in a closure of others, too":   {body: "pass := func() { time.Sleep(1) }; pass(); " + bubble("pass()"), want: "real time: time.Sleep"},
		"in what nothing uses":          {rest: "func pass() { time.Sleep(1) }", want: "real time: time.Sleep"},
		"a short timeout":               {body: "ctx, cancel := context.WithTimeout(ctx, 59*time.Second)", want: "short timeout: context.WithTimeout of 59s"},
		"a short timeout with a cause":  {body: "ctx, cancel := context.WithTimeoutCause(ctx, time.Second/2, err)", want: "short timeout: context.WithTimeoutCause of 500ms"},
		"a short timeout of a constant": {body: "ctx, cancel := context.WithTimeout(ctx, 2*short)", rest: "const short = 3 * time.Second", want: "short timeout: context.WithTimeout of 6s"},
		"a short poll":                  {body: "err := wait.PollUntilContextTimeout(ctx, time.Second, 30*time.Second, true, f)", want: "short timeout: wait.PollUntilContextTimeout of 30s"},
		"a near deadline":               {body: "ctx, cancel := context.WithDeadline(ctx, time.Now().Add(time.Second))", want: "short timeout: context.WithDeadline of 1s"},
		"a minute":                      {body: "ctx, cancel := context.WithTimeout(ctx, time.Minute)"},
		"a timeout of who knows":        {body: "ctx, cancel := context.WithTimeout(ctx, c.timeout)"},
		"elapsed time":                  {body: "if time.Since(began) > limit { t.Fatal() }", want: "elapsed time: compares time.Since"},
		"elapsed time in a variable":    {body: "took := time.Since(began); if took > limit { t.Error() }", want: "elapsed time: compares time.Since"},
		"elapsed time in a log":         {body: "t.Log(time.Since(began))"},
		"elapsed time in a bubble":      {body: bubble("if took := time.Since(began); took > limit { t.Error() }")},
		"waiters":                       {body: "for !clk.HasWaiters() {}", want: "HasWaiters: a fake clock's waiters"},
		"waiters in a bubble":           {body: bubble("b.clk.HasWaiters()"), want: "HasWaiters: a fake clock's waiters"},
		"a port that is freed":          {body: `l, _ := net.Listen("tcp", ":0"); a := l.Addr().String(); _ = l.Close(); use(a)`, want: "freed port: closes a listener"},
		"a port that is returned": {rest: `func port() string { l, _ := net.Listen("tcp", ":0"); defer l.Close(); return l.Addr().String() }`,
			want: "freed port: returns a listener's address"},
		"a listener that stays":   {body: `l, _ := net.Listen("tcp", ":0"); defer l.Close(); use(l.Addr())`},
		"a listener that is told": {rest: `func serve() (net.Listener, string) { l, _ := net.Listen("tcp", ":0"); return l, l.Addr().String() }`},
		"a build":                 {body: `exec.Command("go", "build", ".")`, want: "compiler: exec.Command"},
		"a build with a context":  {body: `exec.CommandContext(ctx, "go", "build")`, want: "compiler: exec.CommandContext"},
		"a build by the helper":   {body: `image.BuildBinary(ctx, "..", "./cmd/x", to)`, want: "compiler: image.BuildBinary"},
		"a process in a poll":     {body: `f.waitFor("it", func() bool { exec.Command("git"); return true })`, want: "process in a poll: exec.Command"},
		"by a helper in a poll":   {body: `cluster.WaitFor(ctx, "it", func() bool { return look() })`, rest: `func look() bool { return git() }; func git() bool { exec.Command("git"); return true }`, want: "process in a poll: look"},
		"a process before a poll": {body: `exec.Command("git"); f.waitFor("it", func() bool { return true })`},
		"another program":         {body: `exec.Command("git", "go")`},
	} {
		s, err := parse("x/x_test.go", "package x\nfunc TestX(t *testing.T) {\n"+c.body+"\n}\n"+c.rest)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		found := violations([]source{s})
		if c.want == "" && len(found) > 0 {
			t.Errorf("%s: found %v", name, found)
		}
		if c.want == "" {
			continue
		}
		line := 3
		if c.body == "" || strings.Contains(c.rest, "Sleep") {
			line = 5 + strings.Count(c.rest, "\n")
		}
		if want := fmt.Sprintf("x/x_test.go:%d: %s", line, c.want); len(found) != 1 || !strings.HasPrefix(found[0].String(), want) || !strings.HasSuffix(found[0].String(), flaky[found[0].rule].fix) {
			t.Errorf("%s: found %v, want %s", name, found, want)
		}
	}
}
