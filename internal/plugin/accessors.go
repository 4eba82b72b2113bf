package plugin

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/plugin/wire"
)

func absFile(r *run, in wire.File, _ []byte) (any, []byte, error) {
	return r.call.FS.Abs(in.Name), nil, nil
}

func readFile(r *run, in wire.File, _ []byte) (any, []byte, error) {
	content, err := r.call.FS.ReadFile(in.Name)
	return nil, content, err
}

func statFile(r *run, in wire.File, _ []byte) (any, []byte, error) {
	info, err := r.call.FS.Stat(in.Name)
	if err != nil {
		return nil, nil, err
	}
	return describeFile(info), nil, nil
}

func listFolder(r *run, in wire.File, _ []byte) (any, []byte, error) {
	entries, err := r.call.FS.ReadDir(in.Name)
	list := make([]wire.FileInfo, 0, len(entries))
	for _, e := range entries {
		one := wire.FileInfo{Name: e.Name(), Mode: uint32(e.Type())}
		if info, err := e.Info(); err == nil {
			one = describeFile(info)
		}
		list = append(list, one)
	}
	return list, nil, err
}

func describeFile(info fs.FileInfo) wire.FileInfo {
	return wire.FileInfo{Name: info.Name(), Size: info.Size(), Mode: uint32(info.Mode()), Modified: info.ModTime().Unix()}
}

func writeFile(r *run, in wire.File, body []byte) (any, []byte, error) {
	return nil, nil, r.call.FS.WriteFile(in.Name, body)
}

func makeFolder(r *run, in wire.File, _ []byte) (any, []byte, error) {
	return nil, nil, r.call.FS.MkdirAll(in.Name)
}

func readSecret(r *run, in wire.Name, _ []byte) (any, []byte, error) {
	s, err := r.call.Secrets.Get(r.ctx, in.Name)
	return s.Reveal(), nil, err
}

func getValue(r *run, in wire.Name, _ []byte) (any, []byte, error) {
	value, ok, err := r.call.KV.Get(r.ctx, in.Name)
	return wire.Entry{Value: value, Found: ok}, nil, err
}

func setValue(r *run, in wire.Entry, _ []byte) (any, []byte, error) {
	ttl := min(max(in.TTL, -1), int64(100*365*24*time.Hour/time.Millisecond))
	return nil, nil, r.call.KV.Set(r.ctx, in.Name, in.Value, time.Duration(ttl)*time.Millisecond)
}

func deleteValue(r *run, in wire.Name, _ []byte) (any, []byte, error) {
	return nil, nil, r.call.KV.Delete(r.ctx, in.Name)
}

func listKeys(r *run, in wire.Name, _ []byte) (any, []byte, error) {
	keys, err := r.call.KV.List(r.ctx, in.Name)
	return keys, nil, err
}

func listAttachments(r *run, _ struct{}, _ []byte) (any, []byte, error) {
	return r.call.Attachments.List(), nil, nil
}

func readAttachment(r *run, in wire.Name, _ []byte) (any, []byte, error) {
	f, err := r.call.Attachments.Open(r.ctx, in.Name)
	if err != nil {
		return nil, nil, err
	}
	content, err := readBounded(f)
	return nil, content, err
}

func reportProgress(r *run, in wire.Progress, _ []byte) (any, []byte, error) {
	r.call.Emit(sallyport.Progress{Message: in.Message, Percent: in.Percent, Audience: sallyport.Audience(in.Audience)})
	return nil, nil, nil
}

func sendRequest(r *run, in wire.Request, body []byte) (any, []byte, error) {
	var content io.Reader
	if len(body) > 0 {
		content = bytes.NewReader(body)
	}
	req, err := http.NewRequestWithContext(r.ctx, in.Method, in.URL, content)
	if err != nil {
		return nil, nil, sallyport.InputInvalid("the request has an invalid method or URL")
	}
	for name, values := range in.Header {
		for _, v := range values {
			req.Header.Add(name, v)
		}
	}
	resp, err := r.call.Network.Client().Do(req)
	if err != nil {
		return nil, nil, err
	}
	answer, err := readBounded(resp.Body)
	return wire.Response{Status: resp.StatusCode, URL: resp.Request.URL.String(), Header: resp.Header}, answer, err
}

// readBounded reads and closes what may be as long as a message.
func readBounded(f io.ReadCloser) ([]byte, error) {
	defer func() { _ = f.Close() }() // It was only read.
	b, err := io.ReadAll(io.LimitReader(f, maxMessage+1))
	if err == nil && len(b) > maxMessage {
		err = fmt.Errorf("the answer has more than %d MiB", maxMessage>>20)
	}
	return b, err
}
