package archtest

import (
	"os"
	"path/filepath"
	"testing"
)

// maxBinary is the most that a program with the core and the direct runner may
// weigh, in bytes: it is what each of a user's jobs and tests carries.
const maxBinary = 15 << 20

func TestBinaryIsSmall(t *testing.T) {
	file := filepath.Join(t.TempDir(), "wordcount")
	if _, err := theTree(t).goTool("build", "-o", file, "./examples/wordcount"); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("examples/wordcount has %.1f MB", float64(info.Size())/(1<<20))
	if info.Size() > maxBinary {
		t.Errorf("examples/wordcount has %d bytes, more than %d: see what it links with go list -deps ./examples/wordcount", info.Size(), maxBinary)
	}
}
