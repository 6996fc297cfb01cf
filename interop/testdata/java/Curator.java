import static java.nio.charset.StandardCharsets.UTF_8;

import java.util.concurrent.CountDownLatch;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.retry.RetryNTimes;
import org.apache.zookeeper.KeeperException;

/** A session of Curator's. */
final class Curator implements Driver.Target {
    final CuratorFramework client;

    Curator(String address, int timeout) throws Exception {
        client = CuratorFrameworkFactory.builder()
                .connectString(address)
                .sessionTimeoutMs(timeout)
                .connectionTimeoutMs(10_000)
                .retryPolicy(new RetryNTimes(100, 100))
                .build();
        CountDownLatch connected = new CountDownLatch(1);
        client.getConnectionStateListenable().addListener((c, state) -> connected.countDown());
        client.start();
        connected.await();
    }

    @Override
    public String[] call(String verb, String[] a) throws Exception {
        switch (verb) {
            case "create": // path, data, mode
                return new String[] {client.create().creatingParentsIfNeeded().withMode(Plain.mode(a[2])).forPath(a[0], a[1].getBytes(UTF_8))};
            case "delete": // path, version
                client.delete().withVersion(Integer.parseInt(a[1])).forPath(a[0]);
                return new String[0];
            case "id":
                return new String[] {"0x" + Long.toHexString(client.getZookeeperClient().getZooKeeper().getSessionId())};
            case "close":
                client.close();
                return new String[0];
            default:
                throw new KeeperException.UnimplementedException();
        }
    }
}
