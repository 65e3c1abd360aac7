package ovsdb_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"northwall/ovsdb"
)

// authority is a certificate authority of a test's own.
type authority struct {
	t    testing.TB
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t testing.TB) *authority {
	a := &authority{t: t}
	cert, key := a.issue("authority")
	var err error
	if a.cert, err = x509.ParseCertificate(cert.Certificate[0]); err != nil {
		t.Fatal(err)
	}
	a.key = key
	return a
}

// issue makes a key and a certificate, the first one that of a itself.
func (a *authority) issue(name string) (tls.Certificate, *ecdsa.PrivateKey) {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	parent, signer := a.cert, a.key
	if parent == nil {
		template.IsCA, template.BasicConstraintsValid, template.KeyUsage = true, true, x509.KeyUsageCertSign
		parent, signer = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		a.t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, key
}

func (a *authority) writePEM(file, kind string, der []byte) {
	a.t.Helper()
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		a.t.Fatal(err)
	}
}

// TestTLS: an ssl: remote takes clients with a certificate only, and the
// configuration is asked for each time.
func TestTLS(t *testing.T) {
	t.Parallel()
	needServer(t)
	a := newAuthority(t)
	dir := shortDir(t)
	cert, key := a.issue("server")
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	a.writePEM(dir+"/key", "EC PRIVATE KEY", der)
	a.writePEM(dir+"/cert", "CERTIFICATE", cert.Certificate[0])
	a.writePEM(dir+"/ca", "CERTIFICATE", a.cert.Raw)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	l.Close()
	s := newServer(t, testSchemaJSON, "--remote=pssl:"+port+":127.0.0.1",
		"--private-key="+dir+"/key", "--certificate="+dir+"/cert", "--ca-cert="+dir+"/ca")

	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	client, _ := a.issue("client")
	var asked atomic.Int64
	c := connected(t, ovsdb.Options{Remotes: []string{"ssl:127.0.0.1:" + port}, Tables: testTables(t), TLS: func() (*tls.Config, error) {
		switch asked.Add(1) {
		case 1:
			return nil, errors.New("the key is being replaced")
		case 2:
			return &tls.Config{RootCAs: pool, ServerName: "127.0.0.1"}, nil // refused by the server
		}
		return &tls.Config{RootCAs: pool, ServerName: "127.0.0.1", Certificates: []tls.Certificate{client}}, nil
	}})
	if n := asked.Load(); n != 3 {
		t.Errorf("the configuration was asked for %d times, want 3", n)
	}
	transact(t, c, func(txn *ovsdb.Txn) { txn.Insert("Thing", ovsdb.NewUUID()).String("name", "over TLS") })
	k := newCopy(t, c)
	k.takeAll()
	if len(k.rows["Thing"]) != 1 {
		t.Errorf("got rows %v, want one", k.rows)
	}
	k.check(s.remote())
}
