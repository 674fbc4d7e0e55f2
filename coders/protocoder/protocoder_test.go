package protocoder_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/dynamicpb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"
	"google.golang.org/protobuf/types/known/wrapperspb"
	"pgregory.net/rapid"

	"github.com/penstock-dev/penstock/coders"
	"github.com/penstock-dev/penstock/coders/protocoder"
)

// As a program does it: before any coder is derived.
var registered = []error{
	protocoder.Register[*timestamppb.Timestamp](),
	protocoder.Register[*structpb.Struct](),
}

func coderOf[M proto.Message](t *testing.T) coders.Coder[M] {
	t.Helper()
	c, err := protocoder.For[M]()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestMessageIsPrefixedByItsLength(t *testing.T) {
	c := coderOf[*timestamppb.Timestamp](t)
	m := timestamppb.New(time.Unix(300, 5))
	enc, err := c.Append([]byte("head"), m)
	if err != nil {
		t.Fatal(err)
	}
	wire, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	if want := "head" + string([]byte{byte(len(wire))}) + string(wire); string(enc) != want {
		t.Errorf("got %x, want %x", enc, want)
	}
	got, rest, err := c.Decode(append(enc[4:], "tail"...))
	if err != nil || string(rest) != "tail" || !proto.Equal(got, m) {
		t.Errorf("got %v, %q left, error %v", got, rest, err)
	}
	empty, rest, err := c.Decode([]byte{0})
	if err != nil || len(rest) > 0 || !proto.Equal(empty, &timestamppb.Timestamp{}) || !empty.ProtoReflect().IsValid() {
		t.Errorf("empty message: got %v, %d left, error %v", empty, len(rest), err)
	}
}

// Go's random map order must not show: a checkpoint is compared by its bytes.
func TestMessageWithMapHasOneEncoding(t *testing.T) {
	c := coderOf[*structpb.Struct](t)
	fields := map[string]any{}
	for _, k := range strings.Split("abcdefghijklmnop", "") {
		fields[k] = map[string]any{"x": 1.0, "y": []any{k, nil, true}}
	}
	encodings := map[string]bool{}
	for range 50 {
		m, err := structpb.NewStruct(fields)
		if err != nil {
			t.Fatal(err)
		}
		enc, err := c.Append(nil, m)
		if err != nil {
			t.Fatal(err)
		}
		encodings[string(enc)] = true
		got, _, err := c.Decode(enc)
		if err != nil || !proto.Equal(got, m) {
			t.Fatalf("got %v, error %v", got, err)
		}
	}
	if len(encodings) != 1 {
		t.Errorf("%d encodings of equal messages", len(encodings))
	}
}

type event struct {
	Name string
	At   *timestamppb.Timestamp
	Meta []*structpb.Struct
}

func TestRegisteredMessagesWithinStructs(t *testing.T) {
	for _, err := range registered {
		if err != nil {
			t.Fatal(err)
		}
	}
	c, err := coders.For[event]()
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		in := event{Name: rapid.String().Draw(t, "name"), Meta: []*structpb.Struct{}}
		if rapid.Bool().Draw(t, "at") {
			in.At = &timestamppb.Timestamp{Seconds: rapid.Int64().Draw(t, "sec"), Nanos: rapid.Int32().Draw(t, "nanos")}
		}
		for range rapid.IntRange(0, 3).Draw(t, "metas") {
			m := &structpb.Struct{Fields: map[string]*structpb.Value{}}
			for _, k := range rapid.SliceOfN(rapid.String(), 0, 4).Draw(t, "keys") {
				m.Fields[k] = structpb.NewStringValue(k)
			}
			in.Meta = append(in.Meta, m)
		}
		enc, err := c.Append(nil, in)
		if err != nil {
			t.Fatal(err)
		}
		out, rest, err := c.Decode(enc)
		if err != nil || len(rest) > 0 {
			t.Fatalf("%d bytes left, error %v", len(rest), err)
		}
		if out.Name != in.Name || (out.At == nil) != (in.At == nil) || !proto.Equal(out.At, in.At) || len(out.Meta) != len(in.Meta) {
			t.Fatalf("got %v, want %v", out, in)
		}
		for i := range in.Meta {
			if !proto.Equal(out.Meta[i], in.Meta[i]) {
				t.Fatalf("Meta[%d]: got %v, want %v", i, out.Meta[i], in.Meta[i])
			}
		}
		clear(enc)
		if again, err := c.Append(nil, out); err != nil || bytes.Equal(again, enc) {
			t.Fatalf("the decoded value shares memory with its input, or error %v", err)
		}
	})
}

// F10: equal messages have no one encoding that protobuf promises, so a message
// is no key, nor is what holds one.
func TestF10MessagesAreNoKeys(t *testing.T) {
	for _, err := range []error{
		second(coders.ForKey[*structpb.Struct]()),
		second(coders.ForKey[struct{ At *timestamppb.Timestamp }]()),
		second(coders.ForKey[proto.Message]()),
	} {
		if err == nil || !strings.HasPrefix(err.Error(), "coders: cannot use as a key ") {
			t.Errorf("got %v", err)
		}
	}
}

func second[T any](_ T, err error) error { return err }

type embeds struct{ *timestamppb.Timestamp }

func TestErrors(t *testing.T) {
	stamp := coderOf[*timestamppb.Timestamp](t)
	decode := func(src string) error { _, _, err := stamp.Decode([]byte(src)); return err }
	_, nilErr := stamp.Append(nil, nil)
	_, utf8Err := coderOf[*wrapperspb.StringValue](t).Append(nil, &wrapperspb.StringValue{Value: "\xff"})
	_, inList := coders.For[[]*structpb.Struct]()
	if inList != nil {
		t.Fatal(inList)
	}
	for _, c := range []struct {
		err  error
		want string
	}{
		{nilErr, "protocoder: cannot encode google.protobuf.Timestamp: the message is nil; leave it out or use an empty one"},
		{utf8Err, "protocoder: cannot encode google.protobuf.StringValue: "},
		{decode(""), "protocoder: cannot decode google.protobuf.Timestamp: 0 bytes do not hold a length and a message of that length"},
		{decode("\x05ab"), "3 bytes do not hold a length and a message of that length; the bytes are damaged or of another type"},
		{decode("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), "do not hold a length"},
		{decode("\x02\x08\xff"), "protocoder: cannot decode google.protobuf.Timestamp: proto:"},
		{second(protocoder.For[proto.Message]()), "it is not a pointer to a message; name a pointer to a generated message"},
		{second(protocoder.For[*dynamicpb.Message]()), "a nil one does not know its message type"},
		{second(protocoder.For[*embeds]()), "protocoder: cannot encode *protocoder_test.embeds: a nil one does not know its message type"},
		{second(protocoder.For[embeds]()), "it is not a pointer to a message"},
		{protocoder.Register[*dynamicpb.Message](), "a nil one does not know its message type"},
		{protocoder.Register[*structpb.Struct](), "coders: cannot register *structpb.Struct: it has a coder already"},
		{second(coders.For[[]*wrapperspb.BoolValue]()), "coders: cannot encode []*wrapperspb.BoolValue[]: protobuf message; " +
			"hold it by pointer and call protocoder.Register[*wrapperspb.BoolValue]() when the program starts"},
	} {
		// The library varies the space in its own messages on purpose.
		if c.err == nil || !strings.Contains(strings.ReplaceAll(c.err.Error(), "\u00a0", " "), c.want) {
			t.Errorf("got  %v\nwant %s", c.err, c.want)
		}
	}
}

func FuzzDecodeMessage(f *testing.F) {
	m, err := structpb.NewStruct(map[string]any{"a": 1.0, "b": []any{"c", nil, map[string]any{"d": true}}})
	if err != nil {
		f.Fatal(err)
	}
	c, err := protocoder.For[*structpb.Struct]()
	if err != nil {
		f.Fatal(err)
	}
	enc, err := c.Append(nil, m)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(enc)
	f.Fuzz(func(t *testing.T, src []byte) {
		got, rest, err := c.Decode(src)
		if !bytes.HasSuffix(src, rest) {
			t.Fatal("the rest is not the end of the input")
		}
		if err != nil {
			return
		}
		enc, err := c.Append(nil, got)
		if err != nil {
			t.Fatalf("decoded from %x, but encoding it fails: %v", src, err)
		}
		again, rest, err := c.Decode(enc)
		if err != nil || len(rest) > 0 {
			t.Fatalf("%x: %d bytes left, error %v", enc, len(rest), err)
		}
		if enc2, err := c.Append(nil, again); err != nil || !bytes.Equal(enc, enc2) {
			t.Fatalf("encoded as %x, then as %x, error %v", enc, enc2, err)
		}
	})
}
