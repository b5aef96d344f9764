package proxy

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/rs/zerolog"
	"gopkg.in/yaml.v3"

	"github.com/understudy-kafka/understudy/kraft"
)

// Upstream is one controller behind the proxy.
type Upstream struct {
	Node    kraft.NodeID
	Address string // where the controller listens, HOST:PORT
	Listen  string // where the proxy listens for it: the address that the controller advertises, HOST:PORT
}

func (u Upstream) String() string { return fmt.Sprintf("node %d at %s", u.Node, u.Address) }

// Config says what a proxy does. Only Upstreams must be set.
type Config struct {
	Upstreams    []Upstream
	DialFrom     netip.Addr    // the local address of connections to upstreams; the zero value leaves it to the system
	DialTimeout  time.Duration // for a connection to an upstream; 0: 5 s
	DrainTimeout time.Duration // for open requests when the proxy stops; 0: 2 s
	TapMemory    int           // the most that may wait for the recorder, bytes; 0: 64 MiB
	Faults       []*Rule
	Sinks        []Sink
	Log          zerolog.Logger
}

// ParseUpstream reads NODE=HOST:PORT=LISTEN, the form of the --upstream flag. LISTEN is an address or a port alone,
// which stands for all of this machine's addresses.
func ParseUpstream(text string) (Upstream, error) {
	parts := strings.Split(text, "=")
	if len(parts) != 3 {
		return Upstream{}, fmt.Errorf("upstream %q: want NODE=HOST:PORT=LISTEN, such as 1=127.0.0.1:19093=127.0.0.1:9093", text)
	}
	node, err := strconv.ParseInt(parts[0], 10, 32)
	if err != nil || node < 0 {
		return Upstream{}, fmt.Errorf("upstream %q: node id %q: want a number from 0 on", text, parts[0])
	}
	u := Upstream{Node: kraft.NodeID(node), Address: parts[1], Listen: parts[2]}
	if err := u.complete(); err != nil {
		return Upstream{}, fmt.Errorf("upstream %q: %w", text, err)
	}
	return u, nil
}

// complete checks the addresses of an upstream and writes a port alone as an address.
func (u *Upstream) complete() error {
	if u.Node < 0 {
		return fmt.Errorf("node id %d: want a number from 0 on", u.Node)
	}
	if _, err := strconv.ParseUint(u.Listen, 10, 16); err == nil {
		u.Listen = ":" + u.Listen
	}
	host, err := checkAddress(u.Address)
	if err != nil {
		return fmt.Errorf("address %q: %w", u.Address, err)
	}
	if host == "" {
		return fmt.Errorf("address %q: the host is missing", u.Address)
	}
	if _, port, _ := net.SplitHostPort(u.Address); port == "0" {
		return fmt.Errorf("address %q: port 0 is no port to dial", u.Address)
	}
	if _, err := checkAddress(u.Listen); err != nil {
		return fmt.Errorf("listen address %q: %w", u.Listen, err)
	}
	return nil
}

func checkAddress(address string) (host string, err error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		var bad *net.AddrError
		if errors.As(err, &bad) {
			return "", errors.New(bad.Err)
		}
		return "", err
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil {
		return "", fmt.Errorf("port %q: want a number from 0 to 65535", port)
	} else if n == 0 && host == "" {
		return "", errors.New("want HOST:PORT")
	}
	return host, nil
}

// ErrConfig marks a configuration that cannot work.
var ErrConfig = errors.New("bad configuration")

// checkUpstreams refuses a set of upstreams that cannot work together.
func checkUpstreams(list []Upstream) error {
	if len(list) == 0 {
		return fmt.Errorf("%w: no upstream: give one for each controller, such as 1=127.0.0.1:19093=127.0.0.1:9093", ErrConfig)
	}
	nodes := map[kraft.NodeID]bool{}
	listens := map[string]bool{}
	for i := range list {
		u := &list[i]
		if err := u.complete(); err != nil {
			return fmt.Errorf("%w: upstream of node %d: %w", ErrConfig, u.Node, err)
		}
		if nodes[u.Node] {
			return fmt.Errorf("%w: node %d has two upstreams", ErrConfig, u.Node)
		}
		_, port, _ := net.SplitHostPort(u.Listen)
		if listens[u.Listen] && port != "0" {
			return fmt.Errorf("%w: two upstreams listen on %s", ErrConfig, u.Listen)
		}
		if u.Listen == u.Address {
			return fmt.Errorf("%w: node %d: upstream and listener have the same address %s", ErrConfig, u.Node, u.Address)
		}
		nodes[u.Node], listens[u.Listen] = true, true
	}
	return nil
}

// File is what a configuration file may say:
//
//	upstreams:
//	  - node: 1
//	    address: controller-1.internal:9093
//	    listen: 0.0.0.0:19093
//	dial-from: 127.0.0.9
//	faults:
//	  - drop Vote from 3 to 1 nth 2
type File struct {
	Upstreams []Upstream
	DialFrom  netip.Addr
	Faults    []*Rule
}

type yamlFile struct {
	Upstreams []struct {
		Node    *int32 `yaml:"node"`
		Address string `yaml:"address"`
		Listen  string `yaml:"listen"`
	} `yaml:"upstreams"`
	DialFrom string   `yaml:"dial-from"`
	Faults   []string `yaml:"faults"`
}

// maxConfigFile bounds the size of a configuration file.
const maxConfigFile = 1 << 20

// ReadFile reads a configuration file.
func ReadFile(name string) (*File, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
	}
	defer func() { _ = f.Close() }()
	b, err := io.ReadAll(io.LimitReader(f, maxConfigFile+1))
	if err != nil {
		return nil, fmt.Errorf("configuration %s: %w", name, err)
	}
	if len(b) > maxConfigFile {
		return nil, fmt.Errorf("configuration %s: larger than %d bytes", name, maxConfigFile)
	}
	out, err := parseFile(b)
	if err != nil {
		return nil, fmt.Errorf("configuration %s: %w", name, err)
	}
	return out, nil
}

func parseFile(b []byte) (*File, error) {
	var y yamlFile
	dec := yaml.NewDecoder(bytes.NewReader(b))
	dec.KnownFields(true)
	if err := dec.Decode(&y); err != nil && !errors.Is(err, io.EOF) {
		return nil, yamlError(err)
	}
	if err := dec.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one YAML document: what follows the first would be ignored")
	}
	out := new(File)
	for i, u := range y.Upstreams {
		if u.Node == nil {
			return nil, fmt.Errorf("upstream %d: node is missing", i+1)
		}
		up := Upstream{Node: kraft.NodeID(*u.Node), Address: u.Address, Listen: u.Listen}
		if err := up.complete(); err != nil {
			return nil, fmt.Errorf("upstream %d: %w", i+1, err)
		}
		out.Upstreams = append(out.Upstreams, up)
	}
	for _, text := range y.Faults {
		rule, err := ParseRule(text)
		if err != nil {
			return nil, err
		}
		out.Faults = append(out.Faults, rule)
	}
	if y.DialFrom != "" {
		addr, err := netip.ParseAddr(y.DialFrom)
		if err != nil {
			return nil, fmt.Errorf("dial-from: %w", err)
		}
		out.DialFrom = addr
	}
	return out, nil
}

// The library's words for a key that it does not know, and for a value of another kind. They name the types of this program.
var (
	unknownKey = regexp.MustCompile(`^line (\d+): field (.*?) not found in type (.*)$`)
	wrongKind  = regexp.MustCompile("^line (\\d+): cannot unmarshal (!!\\w+)( `.*`)? into (.*)$")
)

// yamlError says in the file's own terms what is wrong with it.
func yamlError(err error) error {
	var typed *yaml.TypeError
	if !errors.As(err, &typed) {
		return err
	}
	var lines []string
	for _, text := range typed.Errors {
		if m := unknownKey.FindStringSubmatch(text); m != nil {
			keys := "node, address and listen"
			if strings.HasSuffix(m[3], ".yamlFile") {
				keys = "upstreams, dial-from and faults"
			}
			text = fmt.Sprintf("line %s: no key is named %q; there are %s", m[1], m[2], keys)
		} else if m := wrongKind.FindStringSubmatch(text); m != nil {
			want := "a text"
			switch {
			case strings.HasPrefix(m[4], "int"):
				want = "a number"
			case strings.HasPrefix(m[4], "[]"):
				want = "a list"
			case strings.Contains(m[4], "struct"), strings.HasSuffix(m[4], ".yamlFile"):
				want = "keys with values"
			}
			text = fmt.Sprintf("line %s:%s is of another kind: want %s", m[1], strings.TrimRight(" "+strings.TrimSpace(m[3]), " "), want)
		}
		lines = append(lines, text)
	}
	return errors.New(strings.Join(lines, "; "))
}
