package app

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/auth"
	"github.com/sallyport/sallyport/internal/signin"
	"github.com/sallyport/sallyport/internal/yamldoc"
)

// LocalToken creates the bearer token of the local user at the first start, or when
// the user asks for a new one, and returns it to be printed once. Otherwise it
// returns an empty text.
func LocalToken(ctx context.Context, rt *Runtime, replace bool) (token string, err error) {
	token, hash := auth.NewToken()
	stored := replace
	if replace {
		if err = rt.Settings.Put(ctx, TokenSetting, hash); err == nil {
			err = rt.RecordDone(ctx, ChangeEvent(audit.ActionRotate, sallyport.LocalPrincipal, ""), TokenWithheld)
		}
	} else {
		_, stored, err = rt.Settings.PutIfAbsent(ctx, TokenSetting, hash)
	}
	if err != nil || !stored {
		return "", err
	}
	return token, nil
}

// TokenWithheld is appended to the error when a token cannot be recorded. The
// token is then shown to no user.
const TokenWithheld = " and its token is not shown: rotate gives another"

// RolesFor checks the names of personalities. Without names it returns the
// personality that the configuration uses by default.
func RolesFor(rt *Runtime, names []string) ([]string, error) {
	if len(names) == 0 {
		p, err := rt.InForce().Config.Choose("")
		if err != nil {
			return nil, fmt.Errorf("--personality is missing: %w", err)
		}
		return []string{p.Name}, nil
	}
	for _, name := range names {
		if _, ok := rt.InForce().Config.Personality(name); !ok {
			return nil, UnknownName("personality", name, rt.InForce().Config.Names())
		}
	}
	return names, nil
}

// FindEntry returns a listed principal.
func FindEntry(ctx context.Context, rt *Runtime, name string) (auth.Entry, error) {
	all, err := rt.Callers.Entries(ctx)
	if err != nil {
		return auth.Entry{}, err
	}
	var known []string
	for _, e := range all {
		if e.Name == name {
			return e, nil
		}
		known = append(known, e.Name)
	}
	return auth.Entry{}, UnknownName("principal", name, known)
}

// SuggestPrincipal replaces the error about an unknown name by one that suggests a similar
// name.
func SuggestPrincipal(ctx context.Context, rt *Runtime, name string, err error) error {
	if !errors.Is(err, auth.ErrUnknown) {
		return err
	}
	if _, missing := FindEntry(ctx, rt, name); missing != nil {
		return missing
	}
	return err
}

// CheckPrincipal reports an error unless the name belongs to a principal: a
// listed one, the local user, or one of an issuer or of the page, whose names no list holds.
func CheckPrincipal(ctx context.Context, rt *Runtime, name string) error {
	for _, prefix := range []string{auth.OIDCPrefix, signin.Prefix} {
		if strings.HasPrefix(name, prefix) && name != prefix {
			return nil
		}
	}
	if name == sallyport.LocalPrincipal {
		return nil
	}
	_, err := FindEntry(ctx, rt, name)
	return err
}

// UnknownName returns the error about an unknown name.
func UnknownName(what, name string, known []string) error {
	text := fmt.Sprintf("no %s %q", what, name)
	if near := yamldoc.Suggest(name, known); near != "" {
		text += fmt.Sprintf(" (did you mean %q?)", near)
	}
	return errors.New(text)
}
