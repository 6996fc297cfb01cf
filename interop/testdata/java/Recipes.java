import static java.nio.charset.StandardCharsets.UTF_8;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.barriers.DistributedBarrier;
import org.apache.curator.framework.recipes.leader.LeaderLatch;
import org.apache.curator.framework.recipes.leader.LeaderSelector;
import org.apache.curator.framework.recipes.leader.LeaderSelectorListenerAdapter;
import org.apache.curator.framework.recipes.locks.InterProcessLock;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;
import org.apache.curator.framework.recipes.queue.QueueBuilder;
import org.apache.curator.framework.recipes.queue.QueueSerializer;
import org.apache.curator.framework.recipes.queue.SimpleDistributedQueue;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.recipes.leader.LeaderElectionSupport;
import org.apache.zookeeper.recipes.lock.LockListener;
import org.apache.zookeeper.recipes.lock.WriteLock;
import org.apache.zookeeper.recipes.queue.DistributedQueue;

/** The recipes of Curator and of ZooKeeper behind a few verbs: acquire and release, put. */
final class Recipes {
    private Recipes() {}

    static Driver.Target make(String name, String kind, Driver.Target session, String path, String[] more) throws Exception {
        switch (kind) {
            case "mutex":
                return new Lock(new InterProcessMutex(curator(session), path));
            case "read":
                return new Lock(new InterProcessReadWriteLock(curator(session), path).readLock());
            case "write":
                return new Lock(new InterProcessReadWriteLock(curator(session), path).writeLock());
            case "latch":
                return new Latch(curator(session), path, more[0]);
            case "selector":
                return new Selector(curator(session), path);
            case "barrier":
                return barrier(new DistributedBarrier(curator(session), path));
            case "simple-queue":
                return new Queue(new SimpleDistributedQueue(curator(session), path)::offer);
            case "distributed-queue":
                return new Queue(filled(curator(session), path));
            case "writelock":
                return new Java(plain(session), path);
            case "support":
                return new Support(name, plain(session), path, more[0]);
            case "queue":
                return new Queue(new DistributedQueue(plain(session), path, ZooDefs.Ids.OPEN_ACL_UNSAFE)::offer);
            default:
                throw new IllegalArgumentException(kind);
        }
    }

    private static CuratorFramework curator(Driver.Target session) {
        return ((Curator) session).client;
    }

    private static ZooKeeper plain(Driver.Target session) {
        return ((Plain) session).zk;
    }

    private static Driver.Target barrier(DistributedBarrier barrier) {
        return (verb, a) -> {
            switch (verb) {
                case "create":
                    barrier.setBarrier();
                    return new String[0];
                case "remove":
                    barrier.removeBarrier();
                    return new String[0];
                case "wait": // patience in ms
                    return new String[] {barrier.waitOnBarrier(Long.parseLong(a[0]), TimeUnit.MILLISECONDS) ? "yes" : "no"};
                default:
                    throw new KeeperException.UnimplementedException();
            }
        };
    }

    /** A way of having something, for a time. */
    private abstract static class Possession implements Driver.Target {
        /** Waits, and says whether it is had; gives up by itself if not. */
        abstract boolean acquire(long millis) throws Exception;

        abstract void release() throws Exception;

        @Override
        public String[] call(String verb, String[] a) throws Exception {
            switch (verb) {
                case "acquire": // patience in ms
                    return new String[] {acquire(Long.parseLong(a[0])) ? "yes" : "no"};
                case "release":
                    release();
                    return new String[0];
                default:
                    throw new KeeperException.UnimplementedException();
            }
        }
    }

    private static final class Lock extends Possession {
        private final InterProcessLock lock;

        Lock(InterProcessLock lock) {
            this.lock = lock;
        }

        @Override
        boolean acquire(long millis) throws Exception {
            return lock.acquire(millis, TimeUnit.MILLISECONDS);
        }

        @Override
        void release() throws Exception {
            lock.release();
        }
    }

    /** LeaderLatch can be used once; each acquisition makes one. */
    private static final class Latch extends Possession {
        private final CuratorFramework client;
        private final String path;
        private final String id;
        private LeaderLatch latch;

        Latch(CuratorFramework client, String path, String id) {
            this.client = client;
            this.path = path;
            this.id = id;
        }

        @Override
        boolean acquire(long millis) throws Exception {
            latch = new LeaderLatch(client, path, id);
            latch.start();
            if (latch.await(millis, TimeUnit.MILLISECONDS)) {
                return true;
            }
            latch.close();
            return false;
        }

        @Override
        void release() throws Exception {
            latch.close();
        }

        @Override
        public String[] call(String verb, String[] a) throws Exception {
            switch (verb) {
                case "leader": // whoever asks, candidate or not
                    return new String[] {new LeaderLatch(client, path).getLeader().getId()};
                default:
                    return super.call(verb, a);
            }
        }
    }

    /** LeaderSelector leads while a method of its listener runs: here, until release. Each acquisition makes one. */
    private static final class Selector extends Possession {
        private final CuratorFramework client;
        private final String path;
        private LeaderSelector selector;
        private CountDownLatch resigned;

        Selector(CuratorFramework client, String path) {
            this.client = client;
            this.path = path;
        }

        @Override
        boolean acquire(long millis) throws Exception {
            CountDownLatch leads = new CountDownLatch(1);
            CountDownLatch resign = new CountDownLatch(1);
            resigned = resign;
            selector = new LeaderSelector(client, path, new LeaderSelectorListenerAdapter() {
                @Override
                public void takeLeadership(CuratorFramework c) throws Exception {
                    leads.countDown();
                    resign.await();
                }
            });
            selector.start();
            if (leads.await(millis, TimeUnit.MILLISECONDS)) {
                return true;
            }
            selector.close();
            return false;
        }

        @Override
        void release() {
            resigned.countDown();
        }
    }

    /** ZooKeeper's WriteLock. */
    private static final class Java extends Possession {
        private final ZooKeeper zk;
        private final String path;
        private WriteLock lock;

        Java(ZooKeeper zk, String path) {
            this.zk = zk;
            this.path = path;
        }

        @Override
        boolean acquire(long millis) throws Exception {
            CountDownLatch acquired = new CountDownLatch(1);
            lock = new WriteLock(zk, path, ZooDefs.Ids.OPEN_ACL_UNSAFE, new LockListener() {
                @Override
                public void lockAcquired() {
                    acquired.countDown();
                }

                @Override
                public void lockReleased() {}
            });
            long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(millis);
            lock.lock();
            // A predecessor that goes between its listing and its watch leaves WriteLock waiting for ever. Asking again makes it look again.
            while (!acquired.await(500, TimeUnit.MILLISECONDS)) {
                if (System.nanoTime() >= end) {
                    release();
                    return false;
                }
                lock.lock();
            }
            return true;
        }

        @Override
        void release() {
            // Together: a watch that fires in between would make it stand in line again, with nobody to release it.
            synchronized (lock) {
                lock.unlock();
                lock.close();
            }
        }
    }

    /** ZooKeeper's LeaderElectionSupport. */
    private static final class Support extends Possession {
        private final String name;
        private final ZooKeeper zk;
        private final String path;
        private final String host;
        private LeaderElectionSupport support;

        Support(String name, ZooKeeper zk, String path, String host) throws Exception {
            this.name = name;
            this.zk = zk;
            this.path = path;
            this.host = host;
            try {
                zk.create(path, new byte[0], ZooDefs.Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT);
            } catch (KeeperException.NodeExistsException e) {
                return; // it wants the parent to be there, whoever made it
            }
        }

        @Override
        boolean acquire(long millis) throws Exception {
            long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(millis);
            while (System.nanoTime() < end) {
                CountDownLatch over = new CountDownLatch(1);
                boolean[] elected = new boolean[1];
                support = make();
                support.addListener(type -> {
                    if (type == LeaderElectionSupport.EventType.ELECTED_COMPLETE) {
                        elected[0] = true;
                        over.countDown();
                    } else if (type == LeaderElectionSupport.EventType.FAILED) {
                        over.countDown();
                    } else if (type == LeaderElectionSupport.EventType.READY_COMPLETE) {
                        Driver.event(name, "ready", "");
                    }
                });
                support.start();
                if (over.await(end - System.nanoTime(), TimeUnit.NANOSECONDS) && elected[0]) {
                    return true;
                }
                support.stop(); // it fails if a candidate goes while it lists them: stand again
            }
            return false;
        }

        @Override
        void release() {
            support.stop();
        }

        @Override
        public String[] call(String verb, String[] a) throws Exception {
            if (verb.equals("leader")) { // whoever asks, candidate or not
                return new String[] {make().getLeaderHostName()};
            }
            return super.call(verb, a);
        }

        private LeaderElectionSupport make() {
            LeaderElectionSupport s = new LeaderElectionSupport();
            s.setZooKeeper(zk);
            s.setRootNodeName(path);
            s.setHostName(host);
            return s;
        }
    }

    private interface Offer {
        boolean offer(byte[] data) throws Exception;
    }

    /** The queues of ZooKeeper and Curator's imitation of it. */
    private static final class Queue implements Driver.Target {
        private final Offer offer;

        Queue(Offer offer) {
            this.offer = offer;
        }

        @Override
        public String[] call(String verb, String[] a) throws Exception {
            if (!verb.equals("put")) {
                throw new KeeperException.UnimplementedException();
            }
            offer.offer(a[0].getBytes(UTF_8));
            return new String[0];
        }
    }

    /** A queue of Curator's, of which nothing is taken. */
    private static Offer filled(CuratorFramework client, String path) throws Exception {
        QueueSerializer<String> text = new QueueSerializer<String>() {
            @Override
            public byte[] serialize(String item) {
                return item.getBytes(UTF_8);
            }

            @Override
            public String deserialize(byte[] bytes) {
                return new String(bytes, UTF_8);
            }
        };
        org.apache.curator.framework.recipes.queue.DistributedQueue<String> queue =
                QueueBuilder.builder(client, null, text, path).putInBackground(false).buildQueue();
        queue.start();
        return data -> {
            queue.put(new String(data, UTF_8));
            return true;
        };
    }
}
