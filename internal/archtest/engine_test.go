package archtest

import (
	"fmt"
	"go/ast"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// engine lists the packages that take the world from the environment they are
// given: exec.Env, which internal/host implements, and nobody else does. The
// simulator puts its own in that place, runs one worker at a time in seeded
// order on a virtual clock, and finds what a real run would meet once a month.
// Connectors are outside: they talk to the world.
var engine = []string{
	"internal/async", "internal/exec", "internal/graph", "internal/panes", "internal/progress", "internal/sideinput", "internal/strategy", "internal/table",
	"runners/direct", "runners/local/internal/engine", "runners/local/internal/plan",
	"side", "state", "timers", "transforms", "transforms/combine",
}

// bannedImports names what takes the place of each.
var bannedImports = map[string]string{
	"sync":         "a worker owns its operators, state and timers and needs no lock; queues and waking come from exec.Env and internal/host",
	"sync/atomic":  "what workers share goes through queues of internal/host",
	"math/rand":    "randomness has to come from the run's seed: take it from exec.Env",
	"math/rand/v2": "randomness has to come from the run's seed: take it from exec.Env",
	"crypto/rand":  "randomness has to come from the run's seed: take it from exec.Env",
	"hash/maphash": "it differs from process to process: use the hash of package coders",
	"os":           "disk, environment and signals come from exec.Env",
	"os/signal":    "signals are the program's: a run ends with its context",
	"io/ioutil":    "disk comes from exec.Env",
	"net":          "the network is a connector's",
}

// bannedTime are functions that read or wait for the wall clock; types and
// arithmetic of package time are fine.
var bannedTime = []string{"Now", "Since", "Until", "After", "AfterFunc", "Sleep", "NewTimer", "NewTicker", "Tick"}

const (
	useClock  = "processing time is exec.Env's Now, and waking later is its WakeAt"
	useQueues = "elements and control messages travel in internal/host's queues, and parking is its Signal"
	useSpawn  = "goroutines are started by internal/host, which says who owns them and who ends them"
)

// checkEngine returns what a file of the engine takes from elsewhere than its environment.
func checkEngine(s *source) (findings []string) {
	add := func(n ast.Node, what, instead string) {
		findings = append(findings, fmt.Sprintf("%s: the engine must not use %s: %s", s.at(n), what, instead))
	}
	clock := "" // what package time is called here
	for _, spec := range s.file.Imports {
		path, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue // does not parse
		}
		if instead := bannedImports[path]; instead != "" {
			add(spec, "package "+path, instead)
		}
		if path == "time" {
			clock = "time"
			if spec.Name != nil {
				clock = spec.Name.Name
			}
			if clock == "." {
				add(spec, "a dot import of package time", useClock)
			}
		}
	}
	ast.Inspect(s.file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ChanType:
			add(n, "chan", useQueues)
		case *ast.SelectStmt:
			add(n, "select", useQueues)
		case *ast.SendStmt:
			add(n, "a send on a channel", useQueues)
		case *ast.UnaryExpr:
			if n.Op == token.ARROW {
				add(n, "a receive from a channel", useQueues)
			}
		case *ast.GoStmt:
			add(n, "go", useSpawn)
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && clock != "" && x.Name == clock && slices.Contains(bannedTime, n.Sel.Name) {
				add(n, "time."+n.Sel.Name, useClock)
			}
		}
		return true
	})
	return findings
}

func TestEngineTakesTheWorldFromItsEnvironment(t *testing.T) {
	var findings []string
	files := 0
	for _, s := range theTree(t).files {
		if !s.tests && slices.Contains(engine, s.dir()) {
			files++
			findings = append(findings, checkEngine(s)...)
		}
	}
	report(t, findings, nil)
	if files < 20 {
		t.Errorf("only %d files of the engine were found: is the list right?", files)
	}
}

func TestEngineRules(t *testing.T) {
	clean := snippet(t, "x.go", `package x
import "time"
func f(d time.Duration, t time.Time) time.Time { return t.Add(d).Truncate(time.Hour) }
type clock struct{}
func (clock) Now() int { return 0 }
func g(c clock) int { return c.Now() }
`)
	wantFindings(t, checkEngine(clean))

	bad := snippet(t, "x.go", `package x
import (
	"sync"
	clock "time"
	"math/rand/v2"
)
var c chan int
func f() {
	go f()
	select {}
	c <- 1
	<-c
	clock.Sleep(1)
	var now = clock.Now
}
`)
	got := checkEngine(bad)
	wantFindings(t, got, "x.go:3: the engine must not use package sync", "package math/rand/v2", "use chan", "x.go:9: the engine must not use go",
		"use select", "a send", "a receive", "time.Sleep", "time.Now")
	for _, f := range got {
		if strings.Count(f, ": ") < 2 {
			t.Errorf("finding %q names no replacement", f)
		}
	}
	wantFindings(t, checkEngine(snippet(t, "x.go", "package x\nimport . \"time\"\nvar _ = Now()")), "dot import")
}
