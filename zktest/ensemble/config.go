package ensemble

import (
	"fmt"
	"maps"
	"net"
	"path/filepath"
	"slices"
	"strings"
)

// zooCfg is the configuration file of server id.
func zooCfg(id int, dir string, p *plan, s settings) string {
	var b strings.Builder
	for _, key := range slices.Sorted(maps.Keys(s.config)) {
		fmt.Fprintf(&b, "%s=%s\n", key, s.config[key])
	}
	host, port, _ := net.SplitHostPort(p.clientAddr(id)) // the plan made it
	fmt.Fprintf(&b, "dataDir=%s\nclientPortAddress=%s\nclientPort=%s\n", filepath.ToSlash(filepath.Join(dir, "data")), host, port)
	if len(p.hosts) > 1 { // a single one runs stand-alone
		for i, peer := range p.peers[id] {
			fmt.Fprintf(&b, "server.%d=%s\n", i+1, peer)
		}
	}
	return b.String()
}

// javaArgs is the command line behind `java`. Its flags are chosen for a fast start and a small
// process: shared class data, one quick compiler, the simplest collector, small stacks, and no
// files outside the server's folder.
func javaArgs(dir string, ownNames bool, s settings, install installation) []string {
	args := []string{
		"-Xshare:auto", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-XX:-UsePerfData", "-Xss256k", "-Xms16m", "-Xmx160m",
		"-Djava.awt.headless=true", "-Djava.io.tmpdir=" + dir,
		"-Dzookeeper.jmx.log4j.disable=true", "-Dzookeeper.preAllocSize=1024", "-Dzookeeper.forceSync=no",
		"-Dorg.slf4j.simpleLogger.log.org.apache.zookeeper.server.NIOServerCnxn=warn", // a line for each four-letter word
		"-Dorg.slf4j.simpleLogger.log.org.apache.zookeeper.server.command=warn",
		"-Dorg.slf4j.simpleLogger.showDateTime=true", "-Dorg.slf4j.simpleLogger.dateTimeFormat=HH:mm:ss.SSS",
	}
	if ownNames {
		args = append(args, "-Djdk.net.hosts.file="+filepath.Join(dir, "hosts"))
	}
	args = append(args, s.jvm...)
	classPath := dir + string(filepath.ListSeparator) + install.classPath // the folder first: it configures the logs
	return append(args, "-cp", classPath, "org.apache.zookeeper.server.quorum.QuorumPeerMain", filepath.Join(dir, "zoo.cfg"))
}

// Releases of ZooKeeper bring logback or, older ones, log4j, and both want a file; Debian's package
// uses slf4j-simple, which doesn't.
const (
	logback = `<configuration><appender name="OUT" class="ch.qos.logback.core.ConsoleAppender">
<encoder><pattern>%d{HH:mm:ss.SSS} [%thread] %level %logger{0} - %msg%n%ex</pattern></encoder></appender>
<logger name="org.apache.zookeeper.server.NIOServerCnxn" level="WARN"/>
<root level="INFO"><appender-ref ref="OUT"/></root></configuration>
`
	log4j = `log4j.logger.org.apache.zookeeper.server.NIOServerCnxn=WARN
log4j.rootLogger=INFO, OUT
log4j.appender.OUT=org.apache.log4j.ConsoleAppender
log4j.appender.OUT.layout=org.apache.log4j.PatternLayout
log4j.appender.OUT.layout.ConversionPattern=%d{HH:mm:ss.SSS} [%t] %p %c{1} - %m%n
`
)
