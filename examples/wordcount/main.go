// Wordcount counts the words of the files given as arguments, or of a built-in
// text, on the direct runner. It is the first pipeline to read.
package main

import (
	"bufio"
	"context"
	"fmt"
	"log"
	"os"
	"strings"

	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/runners/direct"
	"github.com/penstock-dev/penstock/transforms"
)

const text = `the cat sat on the mat
the dog sat on the cat`

// CountWords counts how often each word occurs in lines, in lower case.
func CountWords(lines pcoll.PCollection[string]) pcoll.PCollection[pcoll.KV[string, int64]] {
	words := transforms.FlatMap(lines, strings.FieldsSeq)
	return transforms.CountPerElement(transforms.Map(words, strings.ToLower))
}

func main() {
	log.SetFlags(0)
	lines, err := read(os.Args[1:])
	if err != nil {
		log.Fatal("wordcount: ", err)
	}
	p := pcoll.New("wordcount")
	counts := CountWords(transforms.Create(p, lines...))
	transforms.ForEach(counts, func(_ *pcoll.Context, e pcoll.KV[string, int64]) error {
		_, err := fmt.Printf("%6d  %s\n", e.Value, e.Key)
		return err
	})
	if _, err := direct.Run(context.Background(), p); err != nil {
		log.Fatal(err)
	}
}

// read returns the lines of the files, or of the built-in text if there are none.
func read(files []string) (lines []string, err error) {
	if len(files) == 0 {
		return strings.Split(text, "\n"), nil
	}
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		sc := bufio.NewScanner(f)
		for sc.Scan() {
			lines = append(lines, sc.Text())
		}
		f.Close()
		if err := sc.Err(); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return lines, nil
}
