package kafkabroker

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// filled makes a directory with all needed jars and its manifest.
func filled(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range needed {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := list(dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestVerify(t *testing.T) {
	for _, c := range []struct {
		name   string
		damage func(dir string) error
		want   string // part of the error; empty: none
	}{
		{"whole", func(string) error { return nil }, ""},
		{"no manifest", func(dir string) error { return os.Remove(filepath.Join(dir, manifest)) }, manifest},
		{"bad manifest", func(dir string) error { return os.WriteFile(filepath.Join(dir, manifest), []byte("x\n"), 0o644) }, "bad line"},
		{"lost jar", func(dir string) error { return os.Remove(filepath.Join(dir, needed[1])) }, needed[1] + " is listed, but gone"},
		{"cut jar", func(dir string) error { return os.Truncate(filepath.Join(dir, needed[2]), 3) }, "has 3 bytes and should have"},
		{"never fetched", func(dir string) error {
			if err := os.Remove(filepath.Join(dir, needed[0])); err != nil {
				return err
			}
			if err := os.Remove(filepath.Join(dir, manifest)); err != nil {
				return err
			}
			return list(dir)
		}, needed[0] + " is not among the jars"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := filled(t)
			if err := c.damage(dir); err != nil {
				t.Fatal(err)
			}
			err := verify(dir)
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("verify = %v, want an error with %q", err, c.want)
			}
		})
	}
}

func TestPublish(t *testing.T) {
	for _, c := range []struct {
		name string
		dir  func(t *testing.T) string
	}{
		{"absent", func(t *testing.T) string { return filepath.Join(t.TempDir(), "jars") }},
		{"complete by another process", filled},
		{"damaged", func(t *testing.T) string {
			dir := filled(t)
			if err := os.Remove(filepath.Join(dir, needed[0])); err != nil {
				t.Fatal(err)
			}
			return dir
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := c.dir(t)
			if err := publish(filled(t), dir); err != nil {
				t.Fatal(err)
			}
			if err := verify(dir); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestMissingPrograms checks that a machine without Java or Maven is told what to install.
func TestMissingPrograms(t *testing.T) {
	empty := t.TempDir()
	t.Setenv("PATH", empty)
	t.Setenv("HOME", empty) // where the cache is, and so no jars
	t.Setenv("XDG_CACHE_HOME", empty)

	_, err := Start(t.Context(), Options{})
	wantAll(t, err, "Java 17 is missing", `no "java" in PATH`, "apt-get install openjdk-17-jre-headless")

	_, err = Jars(t.Context(), io.Discard)
	wantAll(t, err, "Maven is missing", `no "mvn" in PATH`, "apt-get install maven")
}

// TestFillShowsMavensOutput puts a Maven that fails in the place of the real one.
func TestFillShowsMavensOutput(t *testing.T) {
	bin, cache := t.TempDir(), t.TempDir()
	script := "#!/bin/sh\necho 'no route to the repository'\nexit 1\n"
	if err := os.WriteFile(filepath.Join(bin, "mvn"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin)
	wantAll(t, fill(t.Context(), filepath.Join(cache, "jars"), io.Discard), "mvn copy-dependencies", "exit status 1", "no route to the repository")
	if left, err := os.ReadDir(cache); err != nil || len(left) != 0 {
		t.Errorf("the cache holds %v (%v) after a failed fetch, want nothing", left, err)
	}
}

func wantAll(t *testing.T, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want one with %q", parts)
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("error %q lacks %q", err, part)
		}
	}
}
