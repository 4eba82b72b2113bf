package recordlog

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"

	"github.com/sallyport/sallyport/internal/fsx"
)

// Copy writes the log, as it is at a moment, into a folder that does not exist yet, and
// waits for the disk. Others add records at the same time and wait for nothing: what
// stands before the end of a view does not change. It ends with ErrPruned when records
// were pruned in between. After an error the folder is there, and no log.
func (l *Log) Copy(ctx context.Context, dir string) error {
	before, err := readBase(l.dir)
	if err != nil {
		return l.closedOr(err)
	}
	v, err := l.View(ctx)
	if err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	for number := before.First.segment(); number <= v.End.segment(); number++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		most := int64(-1)
		if number == v.End.segment() {
			most = v.End.offset()
		}
		if err := l.copySegment(dir, number, most); errors.Is(err, fs.ErrNotExist) {
			return ErrPruned
		} else if err != nil {
			return err
		}
	}
	after, err := readBase(l.dir)
	if err != nil {
		return err
	}
	if !reflect.DeepEqual(before, after) || !before.Clean {
		return ErrPruned
	}
	lock, err := os.OpenFile(filepath.Join(dir, lockName), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(lock.Close(), writeBase(dir, &before))
}

// copySegment copies a segment, of which most bytes belong to the log; all of it when
// most is negative. The rest is zeros, as behind the end of any log.
func (l *Log) copySegment(dir string, number, most int64) error {
	from, err := l.openSegment(number)
	if err != nil {
		return err
	}
	defer from.file.Close()
	if most < 0 {
		most = from.size
	}
	to, err := os.OpenFile(filepath.Join(dir, segmentName(number)), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, io.NewSectionReader(from.file, 0, most))
	if err == nil {
		err = to.Truncate(from.size)
	}
	if err == nil {
		err = fsx.SyncData(to)
	}
	return errors.Join(err, to.Close())
}
