import java.io.*;
import java.nio.charset.StandardCharsets;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.state.ConnectionState;
import org.apache.curator.retry.ExponentialBackoffRetry;

/** A worker of a chaos run on Curator's InterProcessMutex. See package others. */
public final class CuratorWorker {
    static FileOutputStream history;
    static volatile boolean busy = true;
    static final AtomicInteger connection = new AtomicInteger(); // grows when it is suspended or lost

    static synchronized void write(String line) throws IOException {
        history.write((line + "\n").getBytes(StandardCharsets.UTF_8));
    }

    static long span(Random r, double most) {
        double x = r.nextDouble();
        return (long) (x * x * x * most);
    }

    static void calls(CuratorFramework client, String party, long timeout, Random r, double rare) throws Exception {
        for (int n = 0; busy; n++) {
            InterProcessMutex mutex = new InterProcessMutex(client, "/chaos/lock/line");
            try {
                if (!mutex.acquire(r.nextInt(10) < 3 ? span(r, 300) : 60000, TimeUnit.MILLISECONDS)) {
                    continue;
                }
            } catch (Exception e) {
                Thread.sleep(50);
                continue;
            }
            int since = connection.get();
            write("{\"t\":" + System.nanoTime() + ",\"k\":\"moved\",\"w\":\"lock\",\"p\":\"" + party + "\"}");
            long hold = r.nextDouble() < rare ? timeout / 2 + (long) (2 * r.nextDouble() * timeout) : span(r, 150);
            long until = System.nanoTime() + hold * 1000000L, last = 0, from = 0, at = 0;
            boolean pending = false;
            for (;;) {
                long b = System.nanoTime();
                boolean valid = connection.get() == since;
                long a = System.nanoTime();
                if (valid) {
                    from = b;
                    at = a;
                    pending = true;
                }
                boolean over = !valid || a >= until;
                if (pending && (over || at - last > 20000000L)) {
                    write("{\"b\":" + from + ",\"t\":" + at + ",\"k\":\"act\",\"w\":\"lock\",\"x\":\"lock/line\",\"p\":\"" + party + "#" + n + "\"}");
                    pending = false;
                    last = at;
                }
                if (over) {
                    break;
                }
                Thread.sleep(2);
            }
            try {
                mutex.release();
            } catch (Exception e) {
                System.err.println("release: " + e);
            }
            Thread.sleep(span(r, 100));
        }
    }

    public static void main(String[] args) throws Exception {
        String name = args[0];
        history = new FileOutputStream(args[1], true);
        int timeout = Integer.parseInt(args[3]);
        long seed = Long.parseLong(args[4]);
        double rare = Double.parseDouble(args[5]);
        CuratorFramework client = CuratorFrameworkFactory.newClient(args[2], timeout, timeout, new ExponentialBackoffRetry(100, 10));
        client.getConnectionStateListenable().addListener((c, state) -> {
            if (state == ConnectionState.SUSPENDED || state == ConnectionState.LOST) {
                connection.incrementAndGet();
            }
        });
        client.start();
        for (int i = 0; i < 2; i++) {
            String party = name + "." + i;
            Random r = new Random(seed + i);
            Thread t = new Thread(() -> {
                try {
                    calls(client, party, timeout, r, rare);
                } catch (Exception e) {
                    System.err.println("calls: " + e);
                }
            });
            t.setDaemon(true);
            t.start();
        }
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null && !line.equals("stop"); line = in.readLine()) {
            if (line.equals("drain")) {
                busy = false;
            }
        }
        client.close();
        write("{\"t\":" + System.nanoTime() + ",\"k\":\"end\",\"p\":\"" + name + "\"}");
        System.exit(0);
    }
}
