import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.apache.zookeeper.KeeperException;

/**
 * Carries out what a Go test asks of the Java client, of Curator and of ZooKeeper's own recipes.
 *
 * <p>A request is a line "tag, target, verb, arguments", separated by tabs; its answer is "tag, ok, values" or "tag, err, name". What happens unasked
 * is told as "!, target, kind, text". Requests to one target are carried out in their order, on a thread of its own, because Curator's mutexes belong to
 * threads; different targets do not wait for each other.
 */
public final class Driver {
    /** What requests are addressed to: a session, or a recipe on one. */
    interface Target {
        /** Carries out one request; the values go into the answer. */
        String[] call(String verb, String[] args) throws Exception;
    }

    private static final PrintStream OUT = new PrintStream(System.out, false, StandardCharsets.UTF_8);
    private static final Map<String, Target> TARGETS = new ConcurrentHashMap<>();
    private static final Map<String, ExecutorService> THREADS = new ConcurrentHashMap<>();

    private Driver() {}

    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split("\t", -1);
            String target = words[1];
            THREADS.computeIfAbsent(target, t -> Executors.newSingleThreadExecutor()).execute(() -> answer(words));
        }
        Runtime.getRuntime().halt(0); // the test is over: nothing is worth waiting for
    }

    /** Tells the test what happened to a target. */
    static void event(String target, String kind, String text) {
        say("!", target, kind, text);
    }

    private static void answer(String[] words) {
        String tag = words[0];
        try {
            String[] values = call(words[1], words[2], Arrays.copyOfRange(words, 3, words.length));
            String[] line = new String[values.length + 2];
            line[0] = tag;
            line[1] = "ok";
            System.arraycopy(values, 0, line, 2, values.length);
            say(line);
        } catch (Throwable e) { // a test must hear of anything
            say(tag, "err", e instanceof KeeperException ? ((KeeperException) e).code().name() : e.toString());
        }
    }

    private static String[] call(String name, String verb, String[] args) throws Exception {
        switch (verb) {
            case "open": // client, address, session timeout in ms
                TARGETS.put(name, open(args[0], args[1], Integer.parseInt(args[2])));
                return new String[0];
            case "new": // kind, session, path, further arguments
                TARGETS.put(name, Recipes.make(name, args[0], TARGETS.get(args[1]), args[2], Arrays.copyOfRange(args, 3, args.length)));
                return new String[0];
            default:
                Target target = TARGETS.get(name);
                if (target == null) {
                    throw new IllegalArgumentException("no target " + name);
                }
                return target.call(verb, args);
        }
    }

    private static Target open(String client, String address, int timeout) throws Exception {
        switch (client) {
            case "zookeeper":
                return new Plain(address, timeout);
            case "curator":
                return new Curator(address, timeout);
            default:
                throw new IllegalArgumentException(client);
        }
    }

    private static synchronized void say(String... words) {
        OUT.print(String.join("\t", words).replace('\n', ' ') + "\n");
        OUT.flush();
    }
}
