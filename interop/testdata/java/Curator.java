import static java.nio.charset.StandardCharsets.UTF_8;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.api.CuratorWatcher;
import org.apache.curator.framework.api.transaction.CuratorOp;
import org.apache.curator.framework.api.transaction.CuratorTransactionResult;
import org.apache.curator.framework.api.transaction.TransactionOp;
import org.apache.curator.framework.recipes.cache.CuratorCache;
import org.apache.curator.retry.RetryNTimes;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.data.Stat;

/** A session of Curator's. */
final class Curator implements Driver.Target {
    final CuratorFramework client;
    private final String name;
    private final List<CuratorCache> caches = new ArrayList<>();

    Curator(String name, String address, int timeout) throws Exception {
        this.name = name;
        client = CuratorFrameworkFactory.builder()
                .connectString(address)
                .sessionTimeoutMs(timeout)
                .connectionTimeoutMs(10_000)
                .retryPolicy(new RetryNTimes(100, 100))
                .build();
        CountDownLatch connected = new CountDownLatch(1);
        client.getConnectionStateListenable().addListener((c, state) -> {
            if (connected.getCount() > 0) {
                connected.countDown(); // the first time is what open answers
            } else {
                Driver.event(name, "state", state.name());
            }
        });
        client.start();
        connected.await();
    }

    @Override
    public String[] call(String verb, String[] a) throws Exception {
        Stat stat = new Stat();
        CuratorWatcher told = e -> Names.event(name, e);
        switch (verb) {
            case "create": // path, data, mode
                return new String[] {client.create().creatingParentsIfNeeded().withMode(Plain.mode(a[2])).forPath(a[0], a[1].getBytes(UTF_8))};
            case "protected": // path, data
                String path = client.create().withProtection().withMode(Plain.mode("es")).forPath(a[0], a[1].getBytes(UTF_8));
                return new String[] {path};
            case "get":
                byte[] data = a.length > 1
                        ? client.getData().storingStatIn(stat).usingWatcher(told).forPath(a[0])
                        : client.getData().storingStatIn(stat).forPath(a[0]);
                return new String[] {new String(data, UTF_8), "v" + stat.getVersion()};
            case "set": // path, data, version
                return new String[] {"v" + client.setData().withVersion(Integer.parseInt(a[2])).forPath(a[0], a[1].getBytes(UTF_8)).getVersion()};
            case "delete": // path, version
                client.delete().withVersion(Integer.parseInt(a[1])).forPath(a[0]);
                return new String[0];
            case "exists":
                Stat found = a.length > 1 ? client.checkExists().usingWatcher(told).forPath(a[0]) : client.checkExists().forPath(a[0]);
                return new String[] {found == null ? "no" : "v" + found.getVersion()};
            case "children":
                List<String> names = new ArrayList<>(
                        a.length > 1 ? client.getChildren().usingWatcher(told).forPath(a[0]) : client.getChildren().forPath(a[0]));
                Collections.sort(names);
                return new String[] {String.join(",", names)};
            case "cache": // path: follow all below it
                CuratorCache cache = CuratorCache.build(client, a[0]);
                cache.listenable().addListener((type, old, now) ->
                        Driver.event(name, "cache", type.name() + " " + (now == null ? old : now).getPath()));
                caches.add(cache);
                cache.start();
                return new String[0];
            case "multi":
                return transaction(a);
            case "id":
                return new String[] {"0x" + Long.toHexString(client.getZookeeperClient().getZooKeeper().getSessionId())};
            case "close":
                caches.forEach(CuratorCache::close);
                client.close();
                return new String[0];
            default:
                throw new KeeperException.UnimplementedException();
        }
    }

    /** The same way of writing operations as with the plain client. */
    private String[] transaction(String[] args) throws Exception {
        List<CuratorOp> ops = new ArrayList<>();
        TransactionOp op = client.transactionOp();
        for (String arg : args) {
            String[] w = arg.split(" ");
            switch (w[0]) {
                case "create":
                    ops.add(op.create().forPath(w[1], w[2].getBytes(UTF_8)));
                    break;
                case "set":
                    ops.add(op.setData().withVersion(Integer.parseInt(w[3])).forPath(w[1], w[2].getBytes(UTF_8)));
                    break;
                case "check":
                    ops.add(op.check().withVersion(Integer.parseInt(w[2])).forPath(w[1]));
                    break;
                default:
                    ops.add(op.delete().withVersion(Integer.parseInt(w[2])).forPath(w[1]));
            }
        }
        List<String> words = new ArrayList<>();
        for (CuratorTransactionResult r : client.transaction().forOperations(ops)) {
            words.add(r.getType().name().toLowerCase() + " " + r.getForPath());
        }
        return words.toArray(new String[0]);
    }
}
