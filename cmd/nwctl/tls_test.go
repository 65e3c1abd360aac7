package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// authority signs certificates and keeps them as files.
type authority struct {
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{dir: t.TempDir()}
	a.cert, a.key = a.sign(t, "ca", true)
	return a
}

func (a *authority) path(name string) string { return filepath.Join(a.dir, name) }

// sign makes NAME.pem and NAME.key.
func (a *authority) sign(t *testing.T, name string, ca bool) (*x509.Certificate, *ecdsa.PrivateKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: ca, BasicConstraintsValid: true,
	}
	parent, signer := a.cert, a.key
	if parent == nil {
		parent, signer = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for file, block := range map[string]*pem.Block{name + ".pem": {Type: "CERTIFICATE", Bytes: der}, name + ".key": {Type: "EC PRIVATE KEY", Bytes: keyDER}} {
		if err := os.WriteFile(a.path(file), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return cert, key
}

func TestTLS(t *testing.T) {
	ours, strangers := newAuthority(t), newAuthority(t)
	ours.sign(t, "client", false)
	ours.sign(t, "server", false)
	strangers.sign(t, "server", false)
	for _, tt := range []struct {
		name   string
		server *authority
		ca     string
		ok     bool
	}{
		{"signed by the CA", ours, ours.path("ca.pem"), true},
		{"signed by another", strangers, ours.path("ca.pem"), false},
		{"anything", strangers, "none", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			pair, err := tls.LoadX509KeyPair(tt.server.path("server.pem"), tt.server.path("server.key"))
			if err != nil {
				t.Fatal(err)
			}
			config, err := tlsConfig(ours.path("client.key"), ours.path("client.pem"), tt.ca)
			if err != nil {
				t.Fatal(err)
			}
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer listener.Close()
			go func() {
				conn, err := listener.Accept()
				if err != nil {
					return
				}
				defer conn.Close()
				tls.Server(conn, &tls.Config{Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequireAnyClientCert}).Handshake()
			}()
			a, err := net.Dial("tcp", listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer a.Close()
			a.SetDeadline(time.Now().Add(10 * time.Second))
			if err := tls.Client(a, config).Handshake(); (err == nil) != tt.ok {
				t.Errorf("handshake: %v", err)
			}
		})
	}
	for name, files := range map[string][3]string{
		"no key":       {"", ours.path("client.pem"), ours.path("ca.pem")},
		"no CA":        {ours.path("client.key"), ours.path("client.pem"), ""},
		"missing file": {ours.path("nosuch.key"), ours.path("client.pem"), ours.path("ca.pem")},
		"CA is no PEM": {ours.path("client.key"), ours.path("client.pem"), ours.path("client.key")},
	} {
		if _, err := tlsConfig(files[0], files[1], files[2]); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
