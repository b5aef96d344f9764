package kafka

import (
	"fmt"
	"strings"
)

// refuseBypass checks that nothing in a node's properties lets controllers be reached other than through the
// proxy. Three keys decide, and each leaks when it names a real port: advertised.listeners (brokers, observers,
// tools, and what leaders write into the voter records), controller.quorum.voters (Vote, BeginQuorumEpoch,
// registrations) and controller.quorum.bootstrap.servers (Fetch of nodes that look for a leader).
func refuseBypass(nodes []Node, n Node) error {
	proxies := map[string]Node{}
	for _, c := range nodes {
		if c.Controller {
			proxies[c.Advertised] = c
		}
	}
	leak := func(key, format string, args ...any) error {
		return fmt.Errorf("node %s: %s would let traffic go around the proxy: %s", n.ID, key, fmt.Sprintf(format, args...))
	}
	if names := n.Properties["controller.listener.names"]; names != controllerListener {
		return leak("controller.listener.names", "it is %q, want %s alone", names, controllerListener)
	}
	if n.Controller {
		got := "nothing, so the real port"
		for _, entry := range splitList(n.Properties["advertised.listeners"]) {
			if address, ok := strings.CutPrefix(entry, controllerListener+"://"); ok {
				got = address
			}
		}
		if got != n.Advertised {
			return leak("advertised.listeners", "%s is advertised for %s, want the proxy's %s", got, controllerListener, n.Advertised)
		}
	}
	voters := splitList(n.Properties["controller.quorum.voters"])
	for _, entry := range voters {
		id, address, _ := strings.Cut(entry, "@")
		if c, ok := proxies[address]; !ok || c.ID.String() != id {
			return leak("controller.quorum.voters", "%s is not at a proxy's port", entry)
		}
	}
	servers := splitList(n.Properties["controller.quorum.bootstrap.servers"])
	for _, entry := range servers {
		if _, ok := proxies[entry]; !ok {
			return leak("controller.quorum.bootstrap.servers", "%s is not a proxy's port", entry)
		}
	}
	if len(voters)+len(servers) == 0 {
		return fmt.Errorf("node %s: neither controller.quorum.voters nor controller.quorum.bootstrap.servers is set", n.ID)
	}
	return nil
}

func splitList(text string) []string {
	var all []string
	for entry := range strings.SplitSeq(text, ",") {
		if entry = strings.TrimSpace(entry); entry != "" {
			all = append(all, entry)
		}
	}
	return all
}
