package kafkabroker

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// pluginVersion is the version of Maven's dependency plugin that copies the jars.
const pluginVersion = "3.8.1"

// manifest names the file beside the jars that lists them with their sizes. It
// is written last, so a directory that has one was filled to the end.
const manifest = "jars.txt"

// pom asks for the broker, its tools, and a binding that writes its log to
// standard error: without one slf4j drops every line.
const pom = `<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>penstock</groupId>
  <artifactId>broker</artifactId>
  <version>1</version>
  <packaging>pom</packaging>
  <dependencies>
    <dependency><groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId><version>` + Version + `</version></dependency>
    <dependency><groupId>org.apache.kafka</groupId><artifactId>kafka-tools</artifactId><version>` + Version + `</version></dependency>
    <dependency><groupId>org.slf4j</groupId><artifactId>slf4j-simple</artifactId><version>1.7.36</version></dependency>
  </dependencies>
</project>
`

// needed are jars without which no broker starts, or starts and says nothing.
// The manifest finds a file that was lost; these find a wrong list.
var needed = []string{
	"kafka_2.13-" + Version + ".jar",
	"kafka-clients-" + Version + ".jar",
	"kafka-metadata-" + Version + ".jar",
	"kafka-raft-" + Version + ".jar",
	"kafka-server-" + Version + ".jar",
	"kafka-storage-" + Version + ".jar",
	"kafka-tools-" + Version + ".jar",
	"kafka-transaction-coordinator-" + Version + ".jar",
	"slf4j-simple-1.7.36.jar",
}

// Jars returns a directory with Apache Kafka's jars. It lies in the user's
// cache; the first call fills it through Maven, about half a minute and 60 MB,
// and reports that to log. Calls in several processes may overlap.
func Jars(ctx context.Context, log io.Writer) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("kafkabroker: find the cache directory: %w", err)
	}
	dir := filepath.Join(cache, "penstock", "kafka-"+Version)
	broken := verify(dir)
	if broken == nil {
		return dir, nil
	}
	if !errors.Is(broken, fs.ErrNotExist) {
		fmt.Fprintf(log, "broker: fetching the jars again: %v\n", broken)
	}
	if err := fill(ctx, dir, log); err != nil {
		return "", err
	}
	return dir, nil
}

// fill fetches the jars beside dir and moves them there when they are complete.
func fill(ctx context.Context, dir string, log io.Writer) error {
	mvn, err := exec.LookPath("mvn")
	if err != nil {
		return missing("Maven", "mvn", "fetches Apache Kafka's jars", "maven")
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return fmt.Errorf("kafkabroker: make the cache directory: %w", err)
	}
	work, err := os.MkdirTemp(filepath.Dir(dir), "fetch-")
	if err != nil {
		return fmt.Errorf("kafkabroker: make the cache directory: %w", err)
	}
	defer os.RemoveAll(work)
	file, libs := filepath.Join(work, "pom.xml"), filepath.Join(work, "libs")
	if err := os.WriteFile(file, []byte(pom), 0o644); err != nil {
		return fmt.Errorf("kafkabroker: write the list of jars: %w", err)
	}
	fmt.Fprintf(log, "broker: fetching Apache Kafka %s by Maven (once, about 60 MB)\n", Version)
	cmd := exec.CommandContext(ctx, mvn, "-B", "-q", "-f", file,
		"org.apache.maven.plugins:maven-dependency-plugin:"+pluginVersion+":copy-dependencies", "-DoutputDirectory="+libs)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("kafkabroker: mvn copy-dependencies: %w; its output:\n%s", err, tail(out, 40))
	}
	if err := list(libs); err != nil {
		return err
	}
	if err := verify(libs); err != nil {
		return fmt.Errorf("kafkabroker: mvn ended well, but %w", err)
	}
	return publish(libs, dir)
}

// publish moves libs to dir. Another process may have done so already, and a
// broker may run from its jars: a complete dir stays.
func publish(libs, dir string) error {
	if verify(dir) == nil {
		return nil
	}
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("kafkabroker: remove damaged jars: %w", err)
	}
	if err := os.Rename(libs, dir); err != nil && verify(dir) != nil {
		return fmt.Errorf("kafkabroker: keep the jars: %w", err)
	}
	return nil
}

// list writes dir's manifest: a line for each jar, its size and its name.
func list(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("kafkabroker: list the jars: %w", err)
	}
	var b bytes.Buffer
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			return fmt.Errorf("kafkabroker: list the jars: %w", err)
		}
		fmt.Fprintf(&b, "%d %s\n", info.Size(), e.Name())
	}
	if err := os.WriteFile(filepath.Join(dir, manifest), b.Bytes(), 0o644); err != nil {
		return fmt.Errorf("kafkabroker: list the jars: %w", err)
	}
	return nil
}

// verify returns nil if dir holds every jar of its manifest, whole, and every needed one.
func verify(dir string) error {
	b, err := os.ReadFile(filepath.Join(dir, manifest))
	if err != nil {
		return err
	}
	var names []string
	for lines := bufio.NewScanner(bytes.NewReader(b)); lines.Scan(); {
		size, name, ok := strings.Cut(lines.Text(), " ")
		want, err := strconv.ParseInt(size, 10, 64)
		if !ok || err != nil {
			return fmt.Errorf("%s has a bad line %q", manifest, lines.Text())
		}
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			return fmt.Errorf("%s is listed, but gone", name)
		}
		if info.Size() != want {
			return fmt.Errorf("%s has %d bytes and should have %d", name, info.Size(), want)
		}
		names = append(names, name)
	}
	for _, name := range needed {
		if !slices.Contains(names, name) {
			return fmt.Errorf("%s is not among the jars", name)
		}
	}
	return nil
}

// missing is the error for a program that is not installed.
func missing(what, program, does, debian string) error {
	return fmt.Errorf("kafkabroker: %s is missing: no %q in PATH: it %s; install it (on Debian: apt-get install %s)", what, program, does, debian)
}

// tail returns the last n lines of text.
func tail(text []byte, n int) []byte {
	lines := bytes.SplitAfter(bytes.TrimRight(text, "\n"), []byte("\n"))
	return bytes.Join(lines[max(0, len(lines)-n):], nil)
}
