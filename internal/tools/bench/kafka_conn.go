package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kbin"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// dial connects to the broker, through a recordedConn.
func (l *recorded) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &recordedConn{Conn: conn, log: l, over: make(chan struct{})}, nil
}

// recordedConn answers fetches from memory and passes every other request on. One
// request is under way at a time.
type recordedConn struct {
	net.Conn
	log     *recorded
	request []byte   // what was written of a request
	answer  [][]byte // parts of the answer that were not read yet
	once    sync.Once
	over    chan struct{} // closed when nobody waits for the answer any more
}

const fetchKey, fetchVersion = 1, 12

// Write takes a request, in any number of pieces.
func (c *recordedConn) Write(b []byte) (int, error) {
	c.request = append(c.request, b...)
	for len(c.request) >= 4 {
		size := 4 + int(binary.BigEndian.Uint32(c.request))
		if len(c.request) < size {
			break
		}
		if err := c.handle(c.request[:size]); err != nil {
			return 0, err
		}
		c.request = append(c.request[:0], c.request[size:]...)
	}
	return len(b), nil
}

func (c *recordedConn) handle(frame []byte) error {
	if binary.BigEndian.Uint16(frame[4:]) != fetchKey {
		_, err := c.Conn.Write(frame)
		return err
	}
	if v := binary.BigEndian.Uint16(frame[6:]); v != fetchVersion {
		return fmt.Errorf("a fetch of version %d, the bench answers %d", v, fetchVersion)
	}
	correlation := frame[8:12]
	r := kbin.Reader{Src: frame[12:]}
	r.NullableString() // client id
	kmsg.SkipTags(&r)
	var req kmsg.FetchRequest
	req.SetVersion(fetchVersion)
	if err := req.ReadFrom(r.Src); err != nil {
		return err
	}
	c.answer = append(c.answer, c.log.answer(correlation, &req)...)
	if len(c.answer) == 1 { // nothing to read: a broker waits for something
		select {
		case <-time.After(time.Duration(req.MaxWaitMillis) * time.Millisecond):
		case <-c.over:
		}
	}
	return nil
}

// answer has the records of the first partition that has any at its offset, as they are in memory.
func (l *recorded) answer(correlation []byte, req *kmsg.FetchRequest) [][]byte {
	const noTag = 0
	head := append(make([]byte, 4, 128), correlation...)
	head = append(head, noTag)
	head = append(head, make([]byte, 10)...) // throttle, error, session
	for _, t := range req.Topics {
		for _, p := range t.Partitions {
			part := &l.partitions[p.Partition]
			for _, chunk := range part.chunks {
				if chunk.from != p.FetchOffset {
					continue
				}
				head = binary.AppendUvarint(head, 2) // one topic
				head = binary.AppendUvarint(head, uint64(len(t.Topic)+1))
				head = append(head, t.Topic...)
				head = binary.AppendUvarint(head, 2) // one partition
				head = binary.BigEndian.AppendUint32(head, uint32(p.Partition))
				head = binary.BigEndian.AppendUint16(head, 0)
				head = binary.BigEndian.AppendUint64(head, uint64(part.end)) // high watermark
				head = binary.BigEndian.AppendUint64(head, uint64(part.end)) // last stable offset
				head = binary.BigEndian.AppendUint64(head, 0)                // log start
				head = binary.AppendUvarint(head, 0)                         // no aborted transactions
				head = binary.BigEndian.AppendUint32(head, 1<<32-1)          // no preferred replica
				head = binary.AppendUvarint(head, uint64(len(chunk.records)+1))
				tail := []byte{noTag, noTag, noTag} // of partition, topic and response
				binary.BigEndian.PutUint32(head, uint32(len(head)-4+len(chunk.records)+len(tail)))
				return [][]byte{head, chunk.records, tail}
			}
		}
	}
	head = append(head, 1, noTag) // no topics
	binary.BigEndian.PutUint32(head, uint32(len(head)-4))
	return [][]byte{head}
}

// Read gives the answer.
func (c *recordedConn) Read(b []byte) (int, error) {
	if len(c.answer) == 0 {
		return c.Conn.Read(b)
	}
	n := copy(b, c.answer[0])
	if c.answer[0] = c.answer[0][n:]; len(c.answer[0]) == 0 {
		c.answer = c.answer[1:]
	}
	return n, nil
}

// SetDeadline implements net.Conn. A time long past breaks a wait off.
func (c *recordedConn) SetDeadline(t time.Time) error {
	if !t.IsZero() && t.Before(time.Now()) {
		c.once.Do(func() { close(c.over) })
	}
	return c.Conn.SetDeadline(t)
}

// Close implements net.Conn.
func (c *recordedConn) Close() error {
	c.once.Do(func() { close(c.over) })
	return c.Conn.Close()
}
