package archtest

import (
	"fmt"
	"go/ast"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// conformance is the table of which tests of ours check what Beam's check.
const conformance = "docs/conformance.md"

var (
	headingOf = regexp.MustCompile(`^### (\S+\.java)( \w+)? \((\d+)\)$`)
	packageOf = regexp.MustCompile(`^\| (\w+) \| ([\w/]+) \|$`)
	countOf   = regexp.MustCompile(`^\| (covered|differs|n/a \([^)]+\)|all) \| (\d+) \|$`)
	statusOf  = regexp.MustCompile(`^(differs|n/a \([^)]+\)):`)
	ourTest   = regexp.MustCompile("`(\\w+)\\.((?:Test|Fuzz|Example)[A-Z]\\w*)(?:/([^`]+))?`")
	quoted    = regexp.MustCompile("`([^`]+)`")
	beamFile  = regexp.MustCompile(`^## (\S+\.java) \(\d+\)$`)
	beamClass = regexp.MustCompile(`^### (\w+) \(\d+\)$`)
	beamTest  = regexp.MustCompile(`^- (\w+)`)
)

// A mapping is what the table says.
type mapping struct {
	classes  map[string][]string // Beam's tests by file and nested class
	packages map[string]string   // paths by the names that stand for them
	findings []string
}

func (m *mapping) find(line int, format string, args ...any) {
	m.findings = append(m.findings, fmt.Sprintf("%s:%d: %s", conformance, line, fmt.Sprintf(format, args...)))
}

// readMapping reads the table and checks its numbers against its rows.
func readMapping(text string) *mapping {
	m := &mapping{classes: map[string][]string{}, packages: map[string]string{}}
	says, has := map[string]int{}, map[string]int{}
	class, want, at := "", 0, 0
	closeClass := func() {
		if n := len(m.classes[class]); n != want {
			m.find(at, "%s has %d tests, its heading says %d", class, n, want)
		}
		class, want = "", 0
	}
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimRight(line, "\r")
		if h := headingOf.FindStringSubmatch(line); h != nil {
			closeClass()
			class, at = h[1]+h[2], i+1
			want, _ = strconv.Atoi(h[3])
			if m.classes[class] != nil {
				m.find(at, "%s has two tables", class)
			}
			continue
		}
		if strings.HasPrefix(line, "#") {
			closeClass()
		}
		if c := countOf.FindStringSubmatch(line); c != nil && class == "" {
			says[c[1]], _ = strconv.Atoi(c[2])
		} else if p := packageOf.FindStringSubmatch(line); p != nil && class == "" {
			m.packages[p[1]] = p[2]
		}
		if class != "" && strings.HasPrefix(line, "| `") {
			m.row(i+1, class, line, has)
		}
	}
	closeClass()
	if !maps.Equal(says, has) {
		m.find(1, "the table of numbers says %v, the rows are %v", says, has)
	}
	return m
}

// row reads one row of a class: Beam's tests, then ours or the reason.
func (m *mapping) row(line int, class, text string, has map[string]int) {
	cells := strings.SplitN(strings.Trim(text, "| "), " | ", 2)
	if len(cells) != 2 {
		m.find(line, "the row has no second cell")
		return
	}
	status := "covered"
	if s := statusOf.FindStringSubmatch(cells[1]); s != nil {
		status = s[1]
	}
	if !strings.HasPrefix(status, "n/a") && !ourTest.MatchString(cells[1]) {
		m.find(line, "the row names no test of ours")
	}
	for _, name := range quoted.FindAllStringSubmatch(cells[0], -1) {
		if slices.Contains(m.classes[class], name[1]) {
			m.find(line, "%s occurs twice in %s", name[1], class)
		}
		m.classes[class] = append(m.classes[class], name[1])
		has[status]++
		has["all"]++
	}
}

// checkOurTests returns the tests of ours that the text names and that do not
// exist: the function in the package, and its case in the file of the function
// or in the package's testdata, as a string.
func checkOurTests(m *mapping, text string, files []*source, texts map[string]string) {
	tests := map[string]string{} // file of each test, by package path and name
	for _, s := range files {
		if !s.tests {
			continue
		}
		for _, d := range s.file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil {
				tests[s.dir()+"."+f.Name.Name] = s.path
			}
		}
	}
	for i, line := range strings.Split(text, "\n") {
		for _, ref := range ourTest.FindAllStringSubmatch(line, -1) {
			dir := m.packages[ref[1]]
			file := tests[dir+"."+ref[2]]
			switch {
			case dir == "":
				m.find(i+1, "%s stands for no package", ref[1])
			case file == "":
				m.find(i+1, "%s has no %s", dir, ref[2])
			case ref[3] != "" && !saysCase(texts, dir, file, ref[3]):
				m.find(i+1, "%s of %s has no case %q", ref[2], dir, ref[3])
			}
		}
	}
}

func saysCase(texts map[string]string, dir, file, name string) bool {
	literal := strconv.Quote(name)
	for path, text := range texts {
		if (path == file || strings.HasPrefix(path, dir+"/testdata/")) && strings.Contains(text, literal) {
			return true
		}
	}
	return false
}

// beamNames reads the list of Beam's tests by file and nested class.
func beamNames(text string) map[string][]string {
	classes := map[string][]string{}
	file, class := "", ""
	for _, line := range strings.Split(text, "\n") {
		if h := beamFile.FindStringSubmatch(line); h != nil {
			file, class = h[1], h[1]
		} else if h := beamClass.FindStringSubmatch(line); h != nil {
			class = file + " " + h[1]
		} else if t := beamTest.FindStringSubmatch(line); t != nil && file != "" {
			classes[class] = append(classes[class], t[1])
		}
	}
	return classes
}

// checkNames compares the names of the table with Beam's.
func checkNames(m *mapping, names map[string][]string) {
	for _, class := range slices.Sorted(maps.Keys(names)) {
		want, got := slices.Sorted(slices.Values(names[class])), slices.Sorted(slices.Values(m.classes[class]))
		if !slices.Equal(got, want) {
			m.find(1, "%s: tests are %v, want %v", class, got, want)
		}
	}
	for _, class := range slices.Sorted(maps.Keys(m.classes)) {
		if names[class] == nil {
			m.find(1, "%s is no class of Beam's", class)
		}
	}
}

// TestConformanceTableIsTrue: the tests that the table names exist, and its
// numbers are those of its rows. That a test checks what its row says is for review.
func TestConformanceTableIsTrue(t *testing.T) {
	tree := theTree(t)
	text := tree.texts[conformance]
	m := readMapping(text)
	checkOurTests(m, text, tree.files, tree.texts)
	total := 0
	for _, names := range m.classes {
		total += len(names)
	}
	if total != 411 {
		t.Errorf("%s: has %d of Beam's tests, want all 411", conformance, total)
	}
	if dir := os.Getenv("PENSTOCK_BEAM_VECTORS"); dir != "" {
		names, err := os.ReadFile(filepath.Join(dir, "beam_test_names.md"))
		if err != nil {
			t.Fatal(err)
		}
		checkNames(m, beamNames(string(names)))
	}
	report(t, m.findings, nil)
}

func TestConformanceRules(t *testing.T) {
	const good = "| covered | 1 |\n| n/a (none) | 2 |\n| all | 3 |\n| short | some/where |\n\n" +
		"### a/ATest.java (1)\n| Beam | ours |\n| `one` | `short.TestOne/a case`: well |\n" +
		"### a/BTest.java Inner (2)\n| `two`, `three` | n/a (none): it is so |\n## End\n| `x` | y |\n"
	one := snippet(t, "some/where/one_test.go", "package where\nfunc TestOne(t *testing.T) { t.Run(\"a case\", nil) }\n")
	names := "# All\n\n## a/ATest.java (1)\n- one  [Category]\n## a/BTest.java (2)\n### Inner (2)\n- two\n- three\n"
	findings := func(text string) []string {
		m := readMapping(text)
		checkOurTests(m, text, []*source{one}, map[string]string{one.path: one.text})
		checkNames(m, beamNames(names))
		return m.findings
	}
	wantFindings(t, findings(good))
	for _, c := range []struct{ old, new, want string }{
		{"TestOne", "TestTwo", "conformance.md:8: some/where has no TestTwo"},
		{"a case", "another case", "TestOne of some/where has no case \"another case\""},
		{"`short.", "`long.", "long stands for no package"},
		{"`short.TestOne/a case`: well", "we do that", "conformance.md:8: the row names no test of ours"},
		{"| all | 3 |", "| all | 4 |", "the table of numbers says"},
		{"n/a (none): it is so", "differs: `short.TestOne`", "the table of numbers says"},
	} {
		wantFindings(t, findings(strings.Replace(good, c.old, c.new, 1)), c.want)
	}
	wantFindings(t, findings(strings.Replace(good, "Inner (2)", "Inner (3)", 1)), "a/BTest.java Inner has 2 tests, its heading says 3")
	wantFindings(t, findings(strings.Replace(good, "`three`", "`four`", 1)), "a/BTest.java Inner: tests are [four two], want [three two]")
	wantFindings(t, findings(strings.Replace(good, "`two`, `three`", "`two`, `two`", 1)), "two occurs twice", "tests are [two two]")
	wantFindings(t, findings(strings.Replace(good, "BTest", "CTest", 1)), "a/BTest.java Inner: tests are []", "a/CTest.java Inner is no class")
}
