package archtest

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// A block is a piece of Go in a document.
type block struct {
	document string
	line     int
	text     string
}

// goBlocks returns what a document has between a line "```go" and "```".
func goBlocks(document, text string) (blocks []block) {
	var open *block
	for i, line := range strings.Split(text, "\n") {
		switch line = strings.TrimRight(line, " \r"); {
		case open == nil && line == "```go":
			open = &block{document: document, line: i + 2}
		case open != nil && line == "```":
			blocks = append(blocks, *open)
			open = nil
		case open != nil:
			open.text += line + "\n"
		}
	}
	return blocks
}

// whole says whether the block is a file of its own.
func (b block) whole() bool {
	return strings.HasPrefix(b.text, "package ") || strings.Contains(b.text, "\npackage ")
}

// squeeze takes indentation and empty lines away, and marks the lines' ends.
func squeeze(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			b.WriteString(line + "\n")
		}
	}
	return "\n" + b.String()
}

// checkParts returns the blocks that are no whole files and in no Go file either.
func checkParts(blocks []block, files []*source) (findings []string) {
	var squeezed []string
	for _, s := range files {
		squeezed = append(squeezed, squeeze(s.text))
	}
	for _, b := range blocks {
		if !b.whole() && !strings.Contains(strings.Join(squeezed, ""), squeeze(b.text)) {
			findings = append(findings, fmt.Sprintf("%s:%d: this Go is in no file of the tree: make it a whole file, with its package clause, or copy it, "+
				"line by line, from a file that is compiled", b.document, b.line))
		}
	}
	return findings
}

// compile builds the blocks that are whole files, each as a package of this
// module that exists in an overlay only, as any user of the module could.
func compile(t *testing.T, blocks []block) (findings []string) {
	tree := theTree(t)
	overlay := struct{ Replace map[string]string }{map[string]string{}}
	dir := t.TempDir()
	packages := []string{}
	for i, b := range blocks {
		if !b.whole() {
			continue
		}
		if strings.Contains(b.text, `/internal/`) {
			findings = append(findings, fmt.Sprintf("%s:%d: imports an internal package, which users cannot", b.document, b.line))
		}
		name := "documented" + strconv.Itoa(i)
		file := filepath.Join(dir, name+".go")
		located := fmt.Sprintf("//line %s:%d\n%s", b.document, b.line, b.text)
		if err := os.WriteFile(file, []byte(located), 0o644); err != nil {
			t.Fatal(err)
		}
		overlay.Replace[filepath.Join(tree.root, name, "main.go")] = file
		packages = append(packages, "./"+name)
	}
	if len(packages) == 0 {
		return findings
	}
	text, err := json.Marshal(overlay)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(file, text, 0o644); err != nil {
		t.Fatal(err)
	}
	// Listing with export data compiles and does not link.
	args := append([]string{"list", "-export", "-f", "{{.ImportPath}}", "-overlay", file}, packages...)
	if _, err := tree.goTool(args...); err != nil {
		findings = append(findings, "Go in a document does not compile: "+err.Error())
	}
	return findings
}

func TestDocumentsShowGoThatCompiles(t *testing.T) {
	tree := theTree(t)
	var blocks []block
	for name, text := range tree.texts {
		if strings.HasSuffix(name, ".md") && !strings.Contains("/"+name, "/testdata/") {
			blocks = append(blocks, goBlocks(name, text)...)
		}
	}
	report(t, append(checkParts(blocks, tree.files), compile(t, blocks)...), nil)
	if len(goBlocks("", tree.texts["README.md"])) == 0 {
		t.Error("README.md: shows no Go: it has to show one pipeline")
	}
}

func TestDocumentRules(t *testing.T) {
	fence := "```"
	text := "Text.\n" + fence + "go\nx := 1\n\n\ty(x)\n" + fence + "\n" + fence + "sh\nmake test\n" + fence + "\n" + fence + "go\nx := 2\n" + fence + "\n"
	blocks := goBlocks("a.md", text)
	if len(blocks) != 2 || blocks[0].line != 3 || blocks[1].text != "x := 2\n" {
		t.Fatalf("blocks %+v", blocks)
	}
	wantFindings(t, checkParts(blocks, []*source{snippet(t, "x.go", "package x\nfunc f() {\n\tx := 1\n\ty(x)\n}\n")}), "a.md:11")

	good := block{"good.md", 1, "package main\n\nimport \"" + module + "/coders\"\n\nvar _ = coders.For[int]\n\nfunc main() {}\n"}
	wantFindings(t, compile(t, []block{good}))
	bad := block{"bad.md", 7, "package main\n\nfunc main() { none() }\n"}
	wantFindings(t, compile(t, []block{good, bad}), "bad.md:9")
	inside := block{"inside.md", 1, "package x\n\nimport _ \"" + module + "/internal/exec\"\n"}
	wantFindings(t, compile(t, []block{inside}), "inside.md:1: imports an internal package")
}
