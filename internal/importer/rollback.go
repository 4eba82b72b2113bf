package importer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sallyport/sallyport/internal/clients"
	"github.com/sallyport/sallyport/internal/copies"
	"github.com/sallyport/sallyport/internal/onestep"
	"github.com/sallyport/sallyport/internal/text"
)

// RollBack restores the servers of the client that the options name, or of
// every client that has a copy and starts this program.
func RollBack(ctx context.Context, e *Environment, o *Options) error {
	e.FinishStep()
	files, err := e.readFiles(o.Name)
	if err != nil {
		return err
	}
	restored := []string{}
	var faults []error
	for _, file := range files {
		done, err := e.restoreFile(o, file)
		if err != nil {
			faults = append(faults, err)
		}
		if done != "" {
			restored = append(restored, file.Path)
			if !e.JSON {
				e.printLine("%s: %s", file.Path, done)
			}
			e.takeBackCredentials(ctx, file.Client.Name)
		}
	}
	if err := errors.Join(faults...); err != nil {
		return err
	}
	if e.JSON {
		return e.printJSON(map[string][]string{"restored": restored})
	}
	if len(restored) == 0 {
		fmt.Fprintln(e.Err, "nothing to bring back: no file of a client that starts this program has a copy"+e.describeCopies(files))
		return nil
	}
	fmt.Fprintln(e.Err, "the configuration still declares the servers: only this program starts them")
	return nil
}

// takeBackCredentials removes what imports of a client stored of the machine's settings.
// The client has its servers again when that fails, so it only says so.
func (e *Environment) takeBackCredentials(ctx context.Context, client string) {
	if len(e.ConfigFiles) == 0 {
		return
	}
	removed, err := e.RemoveCredentials(ctx, &Draft{Paths: e.ConfigFiles}, client, nil)
	for _, ref := range removed {
		fmt.Fprintf(e.Err, "the secret %s, which import stored, is removed\n", ref)
	}
	if err != nil {
		fmt.Fprintf(e.Err, "sallyport: warning: what import stored for package registries may still be there: %s\n", text.OneLine(err.Error()))
	}
}

// describeCopies names the copies that the rollback looked for.
func (e *Environment) describeCopies(files []*clients.File) string {
	var names []string
	for _, f := range files {
		names = append(names, copies.FolderOf(e.Home).Pattern(f.Path))
	}
	if len(names) == 0 {
		return ""
	}
	return "; looked for " + strings.Join(names, " and ")
}

// readFiles lists the files of a client. Without a name it lists the files of
// all clients that can be read.
func (e *Environment) readFiles(name string) (files []*clients.File, err error) {
	if name != "" {
		_, files, err = e.readSettings(name)
		return files, err
	}
	for _, c := range clients.Known() {
		for _, path := range c.Files(e.Folders) {
			if file, err := clients.Read(c, path, e.Folders); err == nil && file.Text != nil {
				files = append(files, file)
			}
		}
	}
	return files, nil
}

// restoreFile restores the servers of one file from the newest copy that declares
// others. The text done describes the change; it is empty when there is nothing
// to do.
func (e *Environment) restoreFile(o *Options, file *clients.File) (done string, err error) {
	if !file.Connected() && !o.Force {
		return "", nil
	}
	for _, path := range copies.FolderOf(e.Home).ListOf(file.Path) {
		copied, err := clients.Read(file.Client, path, e.Folders)
		if err != nil {
			return "", fmt.Errorf("the copy cannot be read: %w", err)
		}
		if bytes.Equal(copied.Text, file.Text) || !bringsBack(copied, file) {
			continue
		}
		// Restore keeps the sections of projects from the file, not from its
		// copy.
		text, err := file.Restore(copied)
		switch {
		case err == nil && bytes.Equal(text, file.Text):
			continue
		case errors.Is(err, clients.ErrChanged) && o.Force:
			text = copied.Text
		case errors.Is(err, clients.ErrChanged):
			return "", fmt.Errorf("%s: %w. Nothing was changed. Either remove the new servers by hand, or restore the whole copy %s with --force, which loses later changes",
				file.Path, err, path)
		case err != nil:
			return "", err
		}
		return e.writeRestored(file, text, copied, path)
	}
	return "", nil
}

// bringsBack reports whether a copy is from before this program was in the file, or has
// a server that the file has no more. Connect keeps copies that are neither.
func bringsBack(copied, file *clients.File) bool {
	has := file.Servers()
	return !copied.Connected() || slices.ContainsFunc(copied.Servers(), func(old clients.Server) bool {
		return !slices.ContainsFunc(has, func(s clients.Server) bool { return s.Name == old.Name && s.Project == old.Project })
	})
}

// writeRestored writes the restored text. When the file is as it was, its copies go: they
// may hold secrets and have no further use.
func (e *Environment) writeRestored(file *clients.File, text []byte, copied *clients.File, path string) (string, error) {
	change := onestep.Change{Path: file.Path, Old: file.Text, New: text}
	kept, err := copies.FolderOf(e.Home).ChangeFile(&change, time.Now(), e.Replace)
	if err != nil {
		return "", err
	}
	if bytes.Equal(text, copied.Text) {
		return "is as it was; the copy is gone", removeAll(map[string]string{file.Path: kept, copied.Path: path})
	}
	return "has its servers again, and what was changed elsewhere since (copy: " + kept + ")", nil
}
