import static java.nio.charset.StandardCharsets.UTF_8;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import org.apache.zookeeper.AddWatchMode;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.Op;
import org.apache.zookeeper.Watcher;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.data.Stat;

/** A session of the client that comes with ZooKeeper. */
final class Plain implements Driver.Target {
    final ZooKeeper zk;

    Plain(String name, String address, int timeout) throws Exception {
        CountDownLatch connected = new CountDownLatch(1);
        zk = new ZooKeeper(address, timeout, e -> {
            if (e.getState() == Watcher.Event.KeeperState.SyncConnected && connected.getCount() > 0) {
                connected.countDown(); // the first time is what open answers
                return;
            }
            if (e.getPath() == null) {
                Driver.event(name, "state", e.getState().name());
            }
            Names.event(name, e);
        });
        connected.await();
    }

    @Override
    public String[] call(String verb, String[] a) throws Exception {
        Stat stat = new Stat();
        switch (verb) {
            case "create": // path, data, mode
                return new String[] {zk.create(a[0], a[1].getBytes(UTF_8), ZooDefs.Ids.OPEN_ACL_UNSAFE, mode(a[2]))};
            case "get":
                String data = new String(zk.getData(a[0], a.length > 1, stat), UTF_8);
                return new String[] {data, "v" + stat.getVersion()};
            case "set": // path, data, version
                return new String[] {"v" + zk.setData(a[0], a[1].getBytes(UTF_8), Integer.parseInt(a[2])).getVersion()};
            case "delete": // path, version
                zk.delete(a[0], Integer.parseInt(a[1]));
                return new String[0];
            case "exists":
                Stat found = zk.exists(a[0], a.length > 1);
                return new String[] {found == null ? "no" : "v" + found.getVersion()};
            case "children":
                List<String> names = zk.getChildren(a[0], a.length > 1);
                Collections.sort(names);
                return new String[] {String.join(",", names)};
            case "persistent": // path: a watch that stays, on all below it
                zk.addWatch(a[0], AddWatchMode.PERSISTENT_RECURSIVE);
                return new String[0];
            case "unwatch":
                zk.removeAllWatches(a[0], Watcher.WatcherType.Any, false);
                return new String[0];
            case "multi":
                return Names.results(zk.multi(ops(a))).toArray(new String[0]);
            case "id": // the session's, as the server writes it
                return new String[] {"0x" + Long.toHexString(zk.getSessionId())};
            case "close":
                zk.close();
                return new String[0];
            default:
                throw new KeeperException.UnimplementedException();
        }
    }

    static CreateMode mode(String flags) {
        switch (flags) {
            case "e":
                return CreateMode.EPHEMERAL;
            case "s":
                return CreateMode.PERSISTENT_SEQUENTIAL;
            case "es":
                return CreateMode.EPHEMERAL_SEQUENTIAL;
            case "c":
                return CreateMode.CONTAINER;
            default:
                return CreateMode.PERSISTENT;
        }
    }

    /** Operations are written "create /path data", "set /path data version", "check /path version", "delete /path version". */
    private static List<Op> ops(String[] args) {
        List<Op> ops = new ArrayList<>();
        for (String arg : args) {
            String[] w = arg.split(" ");
            switch (w[0]) {
                case "create":
                    ops.add(Op.create(w[1], w[2].getBytes(UTF_8), ZooDefs.Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT));
                    break;
                case "set":
                    ops.add(Op.setData(w[1], w[2].getBytes(UTF_8), Integer.parseInt(w[3])));
                    break;
                case "check":
                    ops.add(Op.check(w[1], Integer.parseInt(w[2])));
                    break;
                default:
                    ops.add(Op.delete(w[1], Integer.parseInt(w[2])));
            }
        }
        return ops;
    }
}
