package main

import (
	"strings"
	"testing"

	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/testing/passert"
	"github.com/penstock-dev/penstock/testing/ptest"
	"github.com/penstock-dev/penstock/transforms"
)

func TestCountWords(t *testing.T) {
	p := pcoll.New("test")
	counts := CountWords(transforms.Create(p, strings.Split(text, "\n")...))
	passert.Equals(t, counts,
		pcoll.Pair("the", int64(4)), pcoll.Pair("cat", int64(2)), pcoll.Pair("sat", int64(2)),
		pcoll.Pair("on", int64(2)), pcoll.Pair("mat", int64(1)), pcoll.Pair("dog", int64(1)))
	ptest.Run(t, p)
}
