package archtest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// A layer says what packages may import beside the standard library.
type layer struct {
	packages string // a path in the module; with /... also all below it
	own      string // packages of ours, same form; "..." is any
	outside  string // modules of others; "..." is any
	because  string
}

// pure is the reason of packages that are in every user's binary.
const pure = "it is part of every pipeline, which has to build in seconds and stay small: the standard library is enough"

const (
	under  = "coders internal/exec internal/graph internal/panes internal/progress internal/strategy internal/table"
	runner = "a runner knows operators by internal/exec and connectors by io/connector: a new transform or connector costs no runner"
	codec  = "a connector works on any runner, and brings only its own protocol's libraries"
)

// layers, bottom first. The first that matches a package is its rule.
var layers = []layer{
	{"coders", "", "", pure},
	{"coders/protocoder", "coders", "google.golang.org/protobuf", "protobuf is apart, so that the core stays free of it"},

	{"internal/exec", "coders", "", "it is the contract between operators and runners, and knows of neither, nor of pipelines"},
	{"internal/strategy", "coders internal/exec", "", "windowing as data, below all who interpret it"},
	{"internal/graph", "coders internal/exec internal/strategy", "", "untyped data, that any runner can read"},
	{"internal/progress", "internal/exec", "", "watermarks as a pure library, tested alone"},
	{"internal/table", "coders internal/exec", "", "state is behind exec's contract: operators do not see how it is kept"},
	{"internal/panes", "coders internal/exec internal/strategy internal/table internal/progress", "",
		"the semantics of windows and triggers, pure, for every runner"},
	{"internal/panes/...", under, "", "what tests of panes are made of"},
	{"internal/host", "internal/exec internal/table internal/progress", "", "it implements exec's environment for every runner, and knows of none"},

	{"pcoll", "coders internal/exec internal/graph internal/strategy", "", pure},
	{"triggers", "internal/strategy", "", pure},
	{"windowing", "coders internal/exec internal/graph internal/strategy pcoll triggers", "", pure},
	{"io/connector", "coders internal/exec internal/graph internal/progress internal/strategy pcoll", "", "runners and connectors meet here: it can need neither"},

	{"state", "coders internal/exec pcoll transforms/combine", "", pure},
	{"timers", "internal/exec pcoll", "", pure},
	{"internal/sideinput", "coders internal/exec internal/graph internal/panes internal/strategy pcoll", "",
		"what side inputs are made of, without the types that users see"},
	{"internal/async", "coders internal/exec internal/graph pcoll", "", "calls of outside services behind exec's contract, below the transforms that make them"},
	{"side", "coders internal/exec internal/sideinput pcoll", "", pure},
	{"transforms/combine", "coders", "", pure},
	{"transforms/sketch", "coders transforms/combine", "github.com/axiomhq/hyperloglog github.com/DataDog/sketches-go",
		"sketches are of other modules, and apart so that the core stays free of them"},
	{"transforms/lookup", "coders internal/async pcoll transforms", "github.com/dgraph-io/ristretto/v2",
		"its cache is of another module, and it is apart so that the core stays free of that"},
	{"transforms", under + " internal/async internal/sideinput io/connector pcoll state timers side triggers windowing transforms/combine", "",
		"a transform is an operator behind exec's contract: it needs no runner, so each runs it"},

	{"runners/direct/...", under + " internal/host io/connector pcoll runners/direct/...", "", runner},
	{"runners/local/...", under + " internal/host io/connector pcoll runners/local/...", "", runner},

	{"io/kafka/...", under + " io/connector io/kafka/... pcoll transforms/...",
		"github.com/segmentio/kafka-go github.com/klauspost/compress github.com/pierrec/lz4/v4 github.com/goccy/go-json", codec},
	{"io/parquet/...", under + " io/connector io/parquet/... pcoll transforms/...", "github.com/parquet-go/parquet-go github.com/klauspost/compress", codec},
	{"io/connector/...", "...", "", "the conformance test of connectors: users import it, and need nothing but us"},

	{"testing/...", "...", "github.com/google/go-cmp", "users import it in their tests: beside us it brings what shows differences"},
	{"internal/harness", "...", "", "it drives any operator, for tests"},
	{"internal/modeltest/...", "...", "pgregory.net/rapid", "it draws pipelines and runs them on every runner, for tests"},
	{"examples/wordcount", "pcoll runners/direct transforms/... windowing triggers", "",
		"the first pipeline shows what a user needs: no internal package, no library"},

	{"internal/tools/...", "...", "...", "tools are run from here, never imported"},
	{"internal/archtest", "...", "...", "it is these tests"},
	{"integration/...", "...", "...", "tests see everything"},
	{"examples/...", "...", "...", "programs see everything"},
	{"cmd/...", "...", "...", "programs see everything"},
}

// stdOnly are the packages that need the standard library only, all the way down.
var stdOnly = []string{
	"coders", "pcoll", "transforms", "transforms/combine", "windowing", "triggers", "state", "timers", "side", "runners/direct",
	"io/connector", "internal/async", "internal/exec", "internal/graph", "internal/host", "internal/panes", "internal/progress", "internal/sideinput",
	"internal/strategy", "internal/table",
}

// imports lists for each package that is not of the standard library what it imports.
type imports map[string][]string

// listImports asks the go command, once for all packages. What does not build
// is not for this test to say.
func listImports(t *testing.T) imports {
	t.Helper()
	out, err := theTree(t).goTool("list", "-e", "-deps", "-f", `{{if not .Standard}}{{.ImportPath}} {{join .Imports " "}}{{end}}`, "./...")
	if err != nil {
		t.Fatal(err)
	}
	all := imports{}
	for line := range strings.Lines(out) {
		if fields := strings.Fields(line); len(fields) > 0 {
			all[fields[0]] = fields[1:]
		}
	}
	return all
}

// own returns the path of a package of ours within the module.
func own(pkg string) (rel string, ok bool) {
	if pkg == module {
		return ".", true
	}
	return strings.CutPrefix(pkg, module+"/")
}

// matches says whether a path fits one of the patterns of a list.
func matches(list, pkg string) bool {
	return slices.ContainsFunc(strings.Fields(list), func(pattern string) bool {
		if pattern == "..." {
			return true
		}
		base, below := strings.CutSuffix(pattern, "/...")
		return pkg == base || below && strings.HasPrefix(pkg, base+"/")
	})
}

// inModule says whether a package lies in one of the modules of a list.
func inModule(list, pkg string) bool {
	return slices.ContainsFunc(strings.Fields(list), func(m string) bool {
		return m == "..." || pkg == m || strings.HasPrefix(pkg, m+"/")
	})
}

// checkLayers returns the imports that no rule allows, and packages without a rule.
func checkLayers(all imports, rules []layer) (findings []string) {
	add := func(pkg, to, because, of, may string) {
		if may == "" {
			may = "nothing"
		}
		findings = append(findings, fmt.Sprintf("%s: must not import %s: %s (%s it may import: %s)", pkg, to, because, of, may))
	}
	for pkg, imported := range all {
		rel, ours := own(pkg)
		if !ours {
			continue
		}
		i := slices.IndexFunc(rules, func(l layer) bool { return matches(l.packages, rel) })
		if i < 0 {
			findings = append(findings, fmt.Sprintf("%s: has no layer: add it to the list in layers_test.go, with what it may import and why", rel))
			continue
		}
		l := rules[i]
		for _, to := range imported {
			dep, ours := own(to)
			switch {
			case ours && !matches(l.own, dep):
				add(rel, dep, l.because, "of ours", l.own)
			case !ours && all[to] != nil && !inModule(l.outside, to):
				add(rel, to, l.because, "of others", l.outside)
			}
		}
	}
	slices.Sort(findings)
	return findings
}

// foreign returns a shortest chain of imports from pkg to a package that is
// neither ours nor of the standard library; nil if there is none.
func foreign(all imports, pkg string) []string {
	from := map[string]string{pkg: ""}
	for queue := []string{pkg}; len(queue) > 0; queue = queue[1:] {
		at := queue[0]
		if _, ours := own(at); !ours {
			var chain []string
			for ; at != ""; at = from[at] {
				chain = append(chain, at)
			}
			slices.Reverse(chain)
			return chain
		}
		for _, to := range all[at] {
			if _, seen := from[to]; !seen && all[to] != nil {
				from[to] = at
				queue = append(queue, to)
			}
		}
	}
	return nil
}

func TestLayers(t *testing.T) {
	report(t, checkLayers(listImports(t), layers), nil)
}

func TestCoreNeedsStandardLibraryOnly(t *testing.T) {
	all := listImports(t)
	tested := 0
	for _, rel := range stdOnly {
		pkg := module + "/" + rel
		if _, exists := all[pkg]; !exists {
			continue
		}
		tested++
		if chain := foreign(all, pkg); chain != nil {
			t.Errorf("%s: needs another module: %s: %s", rel, strings.Join(chain, " → "), pure)
		}
	}
	if tested < 10 {
		t.Errorf("only %d packages of the core were found: is the list right?", tested)
	}
}

func TestLayerRules(t *testing.T) {
	rules := []layer{
		{"low", "", "", "it is low"},
		{"high/...", "low high/...", "lib.org/good", "it is high"},
		{"any", "...", "...", ""},
	}
	all := imports{
		module + "/low":     {"fmt", module + "/high", "lib.org/good"},
		module + "/high":    {"fmt", module + "/low", module + "/high/x", "lib.org/good/part"},
		module + "/high/x":  {"lib.org/goodness", module + "/any"},
		module + "/any":     {module + "/low", module + "/high", "lib.org/goodness"},
		module + "/highest": {},
		"lib.org/good":      {},
		"lib.org/good/part": {"lib.org/goodness"},
		"lib.org/goodness":  {},
	}
	wantFindings(t, checkLayers(all, rules),
		"high/x: must not import any: it is high (of ours it may import: low high/...)",
		"high/x: must not import lib.org/goodness: it is high (of others it may import: lib.org/good)",
		"highest: has no layer",
		"low: must not import high: it is low (of ours it may import: nothing)",
		"low: must not import lib.org/good: it is low (of others it may import: nothing)",
	)
	if got := strings.Join(foreign(all, module+"/high"), " "); got != module+"/high lib.org/good/part" {
		t.Errorf("the chain from high to another module is %q", got)
	}
	if got := foreign(imports{module + "/a": {"fmt", module + "/b"}, module + "/b": {"os"}}, module+"/a"); got != nil {
		t.Errorf("a pure package has the chain %q", got)
	}
}
