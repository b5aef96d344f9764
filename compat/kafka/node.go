package kafka

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/understudy-kafka/understudy/kraft"
)

// Node is one node's place in the quorum. All addresses are of the loopback interface.
type Node struct {
	ID         kraft.NodeID
	Release    Release
	Controller bool
	Broker     bool
	Directory  kraft.DirectoryID

	Listener   string // where its controller listener is bound, HOST:PORT
	Advertised string // where its peers dial it: the proxy's address, or Listener
	Clients    string // the broker's listener

	Dir        string // of this node alone
	DataDir    string // log.dirs
	ConfigFile string
	LogFile    string
	Properties Properties
}

const controllerListener = "CONTROLLER"

// brokerProperties make a broker that fits in a small heap: the default cleaner buffer alone is 128 MB, and
// without room for it the broker dies in LogManager.
var brokerProperties = map[string]string{
	"offsets.topic.replication.factor":         "1",
	"transaction.state.log.replication.factor": "1",
	"transaction.state.log.min.isr":            "1",
	"log.cleaner.dedupe.buffer.size":           "4194304",
	"log.cleaner.threads":                      "1",
	"num.network.threads":                      "1",
	"num.io.threads":                           "2",
}

// plan lays the nodes out: identities, ports, directories, properties.
func plan(c Config) ([]Node, error) {
	var nodes []Node
	for i := range c.Controllers {
		nodes = append(nodes, Node{ID: kraft.NodeID(i + 1), Controller: true, Broker: c.Combined})
	}
	for i := range c.Brokers {
		nodes = append(nodes, Node{ID: FirstBroker + kraft.NodeID(i), Broker: true})
	}
	taken, err := TakePorts(3 * len(nodes))
	if err != nil {
		return nil, err
	}
	address := func() string {
		port := taken[0]
		taken = taken[1:]
		return "127.0.0.1:" + strconv.Itoa(port)
	}
	for i := range nodes {
		n := &nodes[i]
		n.Release = c.release(n.ID)
		n.Directory = newDirectoryID()
		n.Dir = filepath.Join(c.Dir, "node-"+n.ID.String())
		n.DataDir = filepath.Join(n.Dir, "data")
		n.ConfigFile = filepath.Join(n.Dir, "node.properties")
		n.LogFile = filepath.Join(n.Dir, "node.log")
		if n.Controller {
			n.Listener = address()
			n.Advertised = n.Listener
			if c.Proxied {
				n.Advertised = address()
			}
		}
		if n.Broker {
			n.Clients = address()
		}
	}
	for i := range nodes {
		n := &nodes[i]
		n.Properties = nodeProperties(c, nodes, *n)
		if c.Proxied {
			if err := refuseBypass(nodes, *n); err != nil {
				return nil, err
			}
		}
	}
	return nodes, nil
}

func nodeProperties(c Config, nodes []Node, n Node) Properties {
	p := Properties{
		"node.id":                        n.ID.String(),
		"controller.listener.names":      controllerListener,
		"listener.security.protocol.map": controllerListener + ":PLAINTEXT,PLAINTEXT:PLAINTEXT",
		"log.dirs":                       n.DataDir,
	}
	var roles, listeners, advertised []string
	if n.Broker {
		roles = append(roles, "broker")
		listeners = append(listeners, "PLAINTEXT://"+n.Clients)
		advertised = append(advertised, "PLAINTEXT://"+n.Clients)
		p = p.with(brokerProperties)
	}
	if n.Controller {
		roles = append(roles, "controller")
		listeners = append(listeners, controllerListener+"://"+n.Listener)
		advertised = append(advertised, controllerListener+"://"+n.Advertised)
	}
	p["process.roles"] = strings.Join(roles, ",")
	p["listeners"] = strings.Join(listeners, ",")
	p["advertised.listeners"] = strings.Join(advertised, ",")
	if c.Voters == Static {
		p["controller.quorum.voters"] = voterList(nodes)
	} else {
		p["controller.quorum.bootstrap.servers"] = bootstrapList(nodes)
	}
	return p.with(c.Timeouts.properties(), c.Properties, c.NodeProperties[n.ID])
}

func voterList(nodes []Node) string {
	return joinControllers(nodes, func(n Node) string { return n.ID.String() + "@" + n.Advertised })
}

func bootstrapList(nodes []Node) string {
	return joinControllers(nodes, func(n Node) string { return n.Advertised })
}

// initialControllers is the value of --initial-controllers.
func initialControllers(nodes []Node) string {
	return joinControllers(nodes, func(n Node) string {
		return fmt.Sprintf("%s@%s:%s", n.ID, n.Advertised, n.Directory)
	})
}

func joinControllers(nodes []Node, text func(Node) string) string {
	var all []string
	for _, n := range nodes {
		if n.Controller {
			all = append(all, text(n))
		}
	}
	return strings.Join(all, ",")
}
