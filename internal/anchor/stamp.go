package anchor

import (
	"bytes"
	"context"
	"crypto"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/digitorus/pkcs7"
	"github.com/digitorus/timestamp"

	"github.com/sallyport/sallyport/internal/fsx"
)

// parsing lets one answer be parsed at a time: the library counts its depth in a variable
// of its package.
var parsing sync.Mutex

// StampFolder returns the folder beside a file in which the answers of authorities lie.
func StampFolder(path string) string { return path + ".d" }

// makeStampFolder makes the folder beside a file where it is not there. A link in its place
// is refused, as in place of the file.
func makeStampFolder(path string) error {
	folder := StampFolder(path)
	if err := os.Mkdir(folder, 0o700); !errors.Is(err, fs.ErrExist) {
		return err
	}
	info, err := os.Lstat(folder)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is not a folder", folder)
	}
	return err
}

// stampPath is where the answer of an authority for a record lies.
func stampPath(path string, seq int64) string {
	return filepath.Join(StampFolder(path), fmt.Sprintf("%d.tsr", seq))
}

// StampHead asks an authority for the time (RFC 3161), and stores its answer beside the file
// in which the entry is. An answer for the head that is there is left alone.
func StampHead(ctx context.Context, client *http.Client, authority, path string, e Entry) error {
	if there, err := readStampOf(path, &e); err == nil && there != nil {
		if _, err := readStamp(there, &e); err == nil {
			return nil
		}
	}
	nonce, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 64))
	if err != nil {
		return err
	}
	request, err := timestamp.CreateRequest(bytes.NewReader(e.StampedText()), &timestamp.RequestOptions{Hash: crypto.SHA256, Certificates: true, Nonce: nonce})
	if err != nil {
		return err
	}
	answer, err := postBody(ctx, client, authority, "application/timestamp-query", request)
	if err != nil {
		return err
	}
	t, err := readStamp(answer, &e)
	switch {
	case err != nil:
		return err
	case t.Nonce == nil || t.Nonce.Cmp(nonce) != 0:
		return errors.New("the answer is to another request")
	}
	if err := makeStampFolder(path); err != nil {
		return err
	}
	return fsx.ReplaceFile(stampPath(path, e.Seq), answer)
}

// readStamp reads an answer for the head of an entry. Its signature fits its certificate,
// which has yet to be judged.
func readStamp(answer []byte, e *Entry) (*timestamp.Timestamp, error) {
	parsing.Lock()
	t, err := timestamp.ParseResponse(answer)
	parsing.Unlock()
	if err != nil {
		return nil, fmt.Errorf("the answer of the authority: %w", err)
	}
	sum := sha256.Sum256(e.StampedText())
	switch {
	case len(t.Certificates) == 0:
		return nil, errors.New("the answer of the authority has no certificate")
	case t.HashAlgorithm != crypto.SHA256 || !bytes.Equal(t.HashedMessage, sum[:]):
		return nil, errors.New("the answer of the authority is for another head")
	}
	return t, nil
}

// checkStamp returns the time that an authority of the pool put under the head of an entry.
func checkStamp(answer []byte, e *Entry, roots *x509.CertPool) (time.Time, error) {
	t, err := readStamp(answer, e)
	if err != nil {
		return time.Time{}, err
	}
	parsing.Lock()
	p7, err := pkcs7.Parse(t.RawToken)
	parsing.Unlock()
	if err != nil {
		return time.Time{}, err
	}
	signer := p7.GetOnlySigner()
	if signer == nil {
		return time.Time{}, errors.New("the answer of the authority has no single signer")
	}
	others := x509.NewCertPool()
	for _, c := range p7.Certificates {
		others.AddCert(c)
	}
	_, err = signer.Verify(x509.VerifyOptions{
		Roots: roots, Intermediates: others, CurrentTime: t.Time, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageTimeStamping},
	})
	if err != nil {
		return time.Time{}, fmt.Errorf("the authority is not believed: %w", err)
	}
	if !isForTimeAlone(signer) {
		return time.Time{}, errors.New("the authority is not believed: its certificate is not for timestamps alone")
	}
	return t.Time, nil
}

// isForTimeAlone reports whether a certificate has timestamps as its only purpose, in a
// critical extension (RFC 3161, 2.3). To Verify one without purposes is good for all.
func isForTimeAlone(c *x509.Certificate) bool {
	purpose := asn1.ObjectIdentifier{2, 5, 29, 37}
	return len(c.UnknownExtKeyUsage) == 0 && slices.Equal(c.ExtKeyUsage, []x509.ExtKeyUsage{x509.ExtKeyUsageTimeStamping}) &&
		slices.ContainsFunc(c.Extensions, func(e pkix.Extension) bool { return e.Critical && e.Id.Equal(purpose) })
}

// readStampOf returns the answer beside a file for an entry; nil where there is none.
func readStampOf(path string, e *Entry) ([]byte, error) {
	answer, err := os.ReadFile(stampPath(path, e.Seq))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return answer, err
}
