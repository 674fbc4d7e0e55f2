package archtest

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// somebodys finds what is true on one machine only. (Spelt so that no pattern
// finds itself.)
var somebodys = []struct {
	what    string
	pattern *regexp.Regexp
}{
	{"a path of one machine", regexp.MustCompile(`(^|[^\w./-])/(hom[e]|roo[t]|wor[k]|User[s])/[\w.]`)},
	{"a path of one machine", regexp.MustCompile(`[A-Z]:\\+User[s]\\`)},
	{"the host of a registry", regexp.MustCompile(`\b(proxy[.]golang[.]org|sum[.]golang[.]org|repo1?[.]maven[.]|repo[.]maven[.]apache|` +
		`registry[.]npmjs|pypi[.]org|crates[.]io|deb[.]debian)`)},
}

// checkPlaces returns the lines of a text that hold on one machine only.
func checkPlaces(name, text string) (findings []string) {
	for i, line := range strings.Split(text, "\n") {
		for _, s := range somebodys {
			if m := s.pattern.FindString(line); m != "" {
				findings = append(findings, fmt.Sprintf("%s:%d: has %s, %q: it is another one elsewhere, and the machine's own configuration knows it",
					name, i+1, s.what, strings.TrimSpace(m)))
			}
		}
	}
	return findings
}

func TestNothingHoldsOnOneMachineOnly(t *testing.T) {
	var findings []string
	for name, text := range theTree(t).texts {
		findings = append(findings, checkPlaces(name, text)...)
	}
	slices.Sort(findings)
	report(t, findings, nil)
}

func TestPlaceRules(t *testing.T) {
	wantFindings(t, checkPlaces("a", "cd /hom"+"e/me/x\nsee a/hom"+"e/b and https://x.org/wor"+"k/y\nC:\\User"+"s\\me\nGOPROXY=https://proxy"+".golang.org\n"),
		"a:1: has a path of one machine", "a:3", "a:4: has the host of a registry")
}
