package audit

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"strconv"
)

// maxLine bounds a line of an export. It is above the largest record that a store
// takes, 16 MiB: older versions wrote larger ones than this one does.
const maxLine = 17 << 20

// Export writes the records that q asks for as JSON Lines:
//
//	{"seq":1,"hash":"…","event":{…}}
//	{"seq":9,"hash":"…","checkpoint":{…}}
//
// An event stands there byte for byte as it was hashed. The export of a
// whole chain can be verified without the store, see [ReadExport].
func Export(ctx context.Context, r Reader, w io.Writer, q Query) error {
	out := bufio.NewWriterSize(w, 64<<10)
	var line []byte
	for rec, err := range r.Read(ctx, q) {
		if err != nil {
			return errors.Join(fmt.Errorf("audit: export: %w", err), out.Flush())
		}
		line = appendLine(line[:0], &rec)
		if _, err := out.Write(line); err != nil {
			return fmt.Errorf("audit: export: %w", err)
		}
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("audit: export: %w", err)
	}
	return nil
}

func appendLine(b []byte, r *Record) []byte {
	b = append(b, `{"seq":`...)
	b = strconv.AppendInt(b, r.Seq, 10)
	b = append(b, `,"hash":"`...)
	b = append(b, r.Hash.String()...)
	if r.Kind == KindCheckpoint {
		b = append(b, `","checkpoint":`...)
	} else {
		b = append(b, `","event":`...)
	}
	b = append(b, r.Body...)
	return append(b, "}\n"...)
}

// exportedLog reads an export once.
type exportedLog struct{ r io.Reader }

// ReadExport returns a reader over what [Export] wrote, for [Verify] and
// [Events]. It can be read once, and ignores Query.Last. A line that Export
// would not have written exactly so is an error that names its number.
func ReadExport(r io.Reader) Reader { return exportedLog{r} }

func (x exportedLog) Read(ctx context.Context, q Query) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		lines := bufio.NewScanner(x.r)
		lines.Buffer(make([]byte, 0, 64<<10), maxLine)
		n := 0
		for lines.Scan() {
			n++
			rec, err := parseLine(lines.Bytes())
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				yield(Record{}, fmt.Errorf("line %d: %w", n, err))
				return
			}
			if q.Match(&rec) && !yield(rec, nil) {
				return
			}
		}
		if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
			yield(Record{}, fmt.Errorf("line %d is longer than %d bytes, and no record is: the file is no export, or was altered", n+1, maxLine))
		} else if err != nil {
			yield(Record{}, fmt.Errorf("line %d: %w", n+1, err))
		}
	}
}

// parseLine reads one line. Writing the result again must give the same
// line: a repeated key or any other second reading of it is thereby refused.
func parseLine(line []byte) (Record, error) {
	var l struct {
		Seq        int64           `json:"seq"`
		Hash       Hash            `json:"hash"`
		Event      json.RawMessage `json:"event"`
		Checkpoint json.RawMessage `json:"checkpoint"`
	}
	if err := json.Unmarshal(line, &l); err != nil {
		return Record{}, fmt.Errorf("not a record: %w", err)
	}
	rec := Record{Seq: l.Seq, Hash: l.Hash, Body: bytes.Clone(l.Event)}
	if l.Checkpoint != nil {
		rec.Kind, rec.Body = KindCheckpoint, bytes.Clone(l.Checkpoint)
		c, err := rec.Checkpoint()
		if err != nil {
			return Record{}, err
		}
		rec.Time = c.Time.UnixNano()
	} else {
		e, err := rec.Event()
		if err != nil {
			return Record{}, err
		}
		rec.setFields(&e)
	}
	if again := appendLine(nil, &rec); !bytes.Equal(bytes.TrimSuffix(again, []byte("\n")), line) {
		return Record{}, errors.New("not written as an export is")
	}
	return rec, nil
}
