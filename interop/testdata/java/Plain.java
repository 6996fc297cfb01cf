import static java.nio.charset.StandardCharsets.UTF_8;

import java.util.concurrent.CountDownLatch;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.Watcher;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.ZooKeeper;

/** A session of the client that comes with ZooKeeper. */
final class Plain implements Driver.Target {
    final ZooKeeper zk;

    Plain(String address, int timeout) throws Exception {
        CountDownLatch connected = new CountDownLatch(1);
        zk = new ZooKeeper(address, timeout, e -> {
            if (e.getState() == Watcher.Event.KeeperState.SyncConnected) {
                connected.countDown();
            }
        });
        connected.await();
    }

    @Override
    public String[] call(String verb, String[] a) throws Exception {
        switch (verb) {
            case "create": // path, data, mode
                return new String[] {zk.create(a[0], a[1].getBytes(UTF_8), ZooDefs.Ids.OPEN_ACL_UNSAFE, mode(a[2]))};
            case "delete": // path, version
                zk.delete(a[0], Integer.parseInt(a[1]));
                return new String[0];
            case "id": // the session's, as the server writes it
                return new String[] {"0x" + Long.toHexString(zk.getSessionId())};
            case "close":
                zk.close();
                return new String[0];
            default:
                throw new KeeperException.UnimplementedException();
        }
    }

    /** e: of the session; anything else: persistent. */
    static CreateMode mode(String flags) {
        return flags.equals("e") ? CreateMode.EPHEMERAL : CreateMode.PERSISTENT;
    }
}
