import java.util.*;
import java.util.concurrent.*;
import java.util.stream.IntStream;
import org.apache.curator.framework.*;
import org.apache.curator.framework.recipes.barriers.DistributedDoubleBarrier;
import org.apache.curator.framework.recipes.cache.*;
import org.apache.curator.framework.recipes.leader.LeaderLatch;
import org.apache.curator.framework.recipes.locks.*;
import org.apache.curator.framework.recipes.queue.*;
import org.apache.curator.framework.state.ConnectionState;
import org.apache.curator.retry.RetryNTimes;

/** Contends by Curator's recipes. In participants.go, child has the lines that it reads and writes, and fleet does the same in Go. */
public final class Peer {
    private final List<CuratorFramework> clients = new ArrayList<>();
    private final List<List<Callable<Boolean>>> contenders = new ArrayList<>(); // how each locks and unlocks; false after 20 s in vain
    private final String kind;
    private final int pause;
    private StringBuilder log;
    private final List<DistributedQueue<Integer>> queues = new ArrayList<>(); // the producers', then as many consumers'
    private volatile CountDownLatch left; // of the items of a run

    /** Words: open, kind, contenders, paths, pause, timeout, path, servers. */
    private Peer(String[] w) throws Exception {
        kind = w[1];
        pause = Integer.parseInt(w[4]);
        for (String server : w[7].split(",")) {
            CuratorFramework c = CuratorFrameworkFactory.newClient(server, Integer.parseInt(w[5]), 10_000, new RetryNTimes(100, 100));
            clients.add(c);
            c.start();
            c.blockUntilConnected();
        }
        for (int i = 0; i < Integer.parseInt(w[2]); i++) {
            if (kind.equals("queue")) {
                queues.add(queue(clients.get(i % clients.size()), i >= Integer.parseInt(w[2]) / 2, w[6]));
                continue;
            }
            contenders.add(contender(clients.get(i % clients.size()), i, w[6] + "-" + i % Integer.parseInt(w[3])));
        }
    }

    public static void main(String[] args) {
        Peer peer = null;
        for (Scanner in = new Scanner(System.in); in.hasNextLine(); ) {
            String[] w = in.nextLine().split(" ");
            String answer = "ok";
            try {
                switch (w[0]) {
                    case "open" -> peer = new Peer(w);
                    case "run" -> answer += peer.run(Integer.parseInt(w[1]));
                    default -> peer.close();
                }
            } catch (Exception e) {
                answer = "error " + e;
            }
            System.out.println(answer.replace('\n', ' '));
        }
        Runtime.getRuntime().halt(0);
    }

    private List<Callable<Boolean>> contender(CuratorFramework c, int i, String path) throws Exception {
        if (kind.startsWith("tree")) {
            return tree(c, path);
        }
        if (kind.equals("election")) {
            LeaderLatch[] latch = new LeaderLatch[1]; // each can be used once
            return List.of(() -> {
                latch[0] = new LeaderLatch(c, path);
                latch[0].start();
                return latch[0].await(20, TimeUnit.SECONDS);
            }, () -> {
                latch[0].close();
                return true;
            });
        }
        if (kind.equals("barrier")) {
            DistributedDoubleBarrier b = new DistributedDoubleBarrier(c, path, clients.size());
            return List.of(() -> b.enter(20, TimeUnit.SECONDS), () -> b.leave(20, TimeUnit.SECONDS));
        }
        InterProcessReadWriteLock both = new InterProcessReadWriteLock(c, path);
        InterProcessLock l = kind.equals("lock") ? new InterProcessMutex(c, path) : i < 2 ? both.writeLock() : both.readLock();
        return List.of(() -> l.acquire(20, TimeUnit.SECONDS), () -> {
            l.release();
            return true;
        });
    }

    /** A cache of the tree at path. See trees.go. */
    private List<Callable<Boolean>> tree(CuratorFramework c, String path) throws Exception {
        CuratorCache[] cache = new CuratorCache[1]; // each can be used once
        Semaphore news = new Semaphore(0);
        Callable<Boolean> begin = () -> {
            CountDownLatch whole = new CountDownLatch(1);
            cache[0] = CuratorCache.build(c, path);
            cache[0].listenable().addListener(CuratorCacheListener.builder().forInitialized(whole::countDown).build());
            cache[0].listenable().addListener((type, before, now) -> news.release());
            cache[0].start();
            return whole.await(20, TimeUnit.SECONDS);
        };
        if (kind.equals("tree")) {
            return List.of(begin, () -> {
                cache[0].close();
                return true;
            });
        }
        begin.call();
        int[] cycle = {0};
        boolean changes = kind.equals("treechange");
        return List.of(() -> {
            byte[] want = Integer.toString(++cycle[0]).getBytes();
            if (changes) {
                c.setData().forPath(path + "/007/000", want);
            }
            for (int i = 0; i < (changes ? 1 : 10); i++) {
                String leaf = String.format("%s/007/%03d", path, i);
                while (!cache[0].get(leaf).map(n -> Arrays.equals(n.getData(), want)).orElse(false)) {
                    if (!news.tryAcquire(20, TimeUnit.SECONDS)) {
                        return false;
                    }
                }
            }
            return true;
        }, () -> true);
    }

    private String run(int n) throws Exception {
        log = new StringBuilder();
        int producers = queues.size() / 2;
        left = new CountDownLatch(producers * n);
        List<Thread> threads = IntStream.range(0, producers + contenders.size()).mapToObj(i -> new Thread(() -> {
            if (kind.equals("queue")) {
                put(i, n);
            } else {
                work(i, n);
            }
        })).toList();
        threads.forEach(Thread::start);
        for (Thread t : threads) {
            t.join();
        }
        if (!left.await(40, TimeUnit.SECONDS)) {
            note('!', 0);
        }
        return log.toString();
    }

    private void close() throws Exception {
        for (DistributedQueue<Integer> q : queues) {
            q.close();
        }
        clients.forEach(CuratorFramework::close);
    }

    /** A queue whose items are locked while they are consumed; with no consumer it is for putting alone. */
    private DistributedQueue<Integer> queue(CuratorFramework c, boolean consumes, String path) throws Exception {
        QueueConsumer<Integer> consumer = !consumes ? null : new QueueConsumer<>() {
            @Override
            public void consumeMessage(Integer item) {
                note('e', item);
                left.countDown();
            }

            @Override
            public void stateChanged(CuratorFramework client, ConnectionState state) {}
        };
        QueueSerializer<Integer> serializer = new QueueSerializer<>() {
            @Override
            public byte[] serialize(Integer item) {
                return String.format("%0100d", item).getBytes();
            }

            @Override
            public Integer deserialize(byte[] data) {
                return Integer.parseInt(new String(data));
            }
        };
        DistributedQueue<Integer> q = QueueBuilder.builder(c, consumer, serializer, path).lockPath(path + "-locks").putInBackground(false).buildQueue();
        q.start();
        return q;
    }

    private void put(int i, int n) {
        try {
            for (int item = i * n; item < (i + 1) * n; item++) {
                note('c', item);
                queues.get(i).put(item);
            }
        } catch (Exception e) {
            System.err.println("Curator: " + e);
            note('!', i);
        }
    }

    private void work(int i, int n) {
        try {
            for (int cycle = 0; cycle < n; cycle++) {
                note('c', i);
                note(contenders.get(i).get(0).call() ? 'e' : '!', i);
                Thread.sleep(pause);
                note('l', i);
                note(contenders.get(i).get(1).call() ? 'g' : '!', i);
            }
        } catch (Exception e) {
            System.err.println("Curator: " + e);
            note('!', i);
        }
    }

    private synchronized void note(char what, int i) {
        log.append(' ').append(what).append(' ').append(i).append(' ').append(System.nanoTime());
    }
}
