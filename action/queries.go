package action

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/schema"
)

const (
	// maxQueryLine bounds a line in which a program asks a database, maxQueryChars the
	// statement in it, as db-query does.
	maxQueryLine, maxQueryChars = 1 << 20, 100_000
	// maxQueries bounds how often a program asks in one call. The record of the call has
	// each connection once, with how it was used or that it was refused.
	maxQueries = 1000
)

// inputDatabase is a connection that a program may ask.
type inputDatabase struct {
	Name string               `json:"name"`
	Mode sallyport.AccessMode `json:"mode"`
}

// databasesOf lists the connections of a declaration for the program.
func databasesOf(d *sallyport.DatabaseCapability) (list []inputDatabase) {
	if d == nil {
		return nil
	}
	mode := sallyport.ModeRead
	if d.Mode == sallyport.ModeWrite {
		mode = sallyport.ModeWrite
	}
	for _, name := range d.Connections {
		list = append(list, inputDatabase{name, mode})
	}
	return list
}

// programQueries answers what the program of a call asks the databases, one question after
// the other, over the socket that is its standard input. The accessor of the call decides
// each of them, and records the first of each connection; the program sees neither an address nor a password.
type programQueries struct {
	databases    sallyport.Databases
	cancel       context.CancelFunc
	began, ended chan struct{}
	// panicked is what a backend panicked with.
	panicked any
}

// serveQueries returns the function that serves the channel of a program until ctx ends. The
// caller calls end when the program has ended.
func serveQueries(ctx context.Context, c *sallyport.Call) (q *programQueries, serve func(end io.ReadWriteCloser)) {
	q = &programQueries{databases: c.Databases, began: make(chan struct{}), ended: make(chan struct{})}
	ctx, q.cancel = context.WithCancel(ctx)
	return q, func(end io.ReadWriteCloser) { q.answerAll(ctx, end) }
}

// programRows is the answer to a question: rows, or why there are none.
type programRows struct {
	Columns   []string `json:"columns"`
	Rows      [][]any  `json:"rows"`
	Truncated bool     `json:"truncated"`
	Affected  int64    `json:"affected"`
}

type programRefusal struct {
	Error string         `json:"error"`
	Code  sallyport.Code `json:"code"`
}

// answerAll answers until the program closes its end or has ended.
func (q *programQueries) answerAll(ctx context.Context, end io.ReadWriteCloser) {
	close(q.began)
	defer close(q.ended)
	defer end.Close()
	defer func() { q.panicked = recover() }()
	lines := bufio.NewScanner(end)
	lines.Buffer(make([]byte, 0, 4096), maxQueryLine)
	for n := 1; lines.Scan() && ctx.Err() == nil; n++ {
		answer, err := q.answerLine(ctx, lines.Bytes(), n)
		if err == nil {
			err = writeLine(end, answer)
		}
		if err != nil {
			return
		}
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		_ = writeLine(end, refusalOf(sallyport.InputInvalid(fmt.Sprintf("a line has more than %d bytes; no more is read", maxQueryLine))))
	}
}

// answerLine answers the nth line. An error means that nothing can be answered any more.
func (q *programQueries) answerLine(ctx context.Context, line []byte, n int) (answer any, err error) {
	if n > maxQueries {
		return refusalOf(&sallyport.Error{Code: sallyport.CodeExecutionFailed, Detail: fmt.Sprintf("a program asks at most %d times in a call", maxQueries)}), nil
	}
	connection, query, args, err := decodeQuery(line)
	if err != nil {
		return refusalOf(err), nil
	}
	table, err := q.databases.Query(ctx, connection, query, args)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return refusalOf(err), nil
	}
	rows := programRows{append([]string{}, table.Columns...), table.Rows, table.More, table.Affected}
	if rows.Rows == nil {
		rows.Rows = [][]any{}
	}
	return rows, nil
}

// decodeQuery reads a question strictly: a key that is not known may mean something.
func decodeQuery(line []byte) (connection, query string, args []any, err error) {
	tree, err := schema.Decode(line, &schema.Limits{Depth: 3, Bytes: maxQueryLine})
	if err != nil {
		return "", "", nil, sallyport.InputInvalid("a question is one JSON object on one line: " + err.Error())
	}
	ask, ok := tree.(map[string]any)
	for key, value := range ask {
		var right bool
		switch key {
		case "database":
			connection, right = value.(string)
		case "query":
			query, right = value.(string)
		case "args":
			args, right = value.([]any)
		}
		ok = ok && right
	}
	switch {
	case !ok || connection == "":
		return "", "", nil, sallyport.InputInvalid(`expected {"database": …, "query": …, "args": […]}`)
	case strings.TrimSpace(query) == "" || utf8.RuneCountInString(query) > maxQueryChars:
		return "", "", nil, sallyport.InputInvalid(fmt.Sprintf("query: expected one statement of at most %d characters", maxQueryChars))
	}
	return connection, query, args, nil
}

// refusalOf says why there are no rows, in words that may be shown.
func refusalOf(err error) programRefusal {
	r := sallyport.ErrorResult(err)
	return programRefusal{r.Error, r.Code}
}

func writeLine(w io.Writer, v any) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err
	}
	_, err := w.Write(b.Bytes())
	return err
}

// end stops answering and waits until nothing asks a database any more: what a program asked
// is in the record before its answer. A panic of a backend goes on here, where the gate
// catches it.
func (q *programQueries) end() {
	q.cancel()
	select {
	case <-q.began:
		<-q.ended
	default:
	}
	if q.panicked != nil {
		panic(q.panicked)
	}
}
