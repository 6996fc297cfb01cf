import java.util.ArrayList;
import java.util.List;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.OpResult;
import org.apache.zookeeper.WatchedEvent;

/** How answers and events are written for the test to compare. */
final class Names {
    private Names() {}

    /** ZooKeeper's codes by their names; in a transaction, one for each operation. */
    static String of(Throwable e) {
        if (e instanceof KeeperException) {
            KeeperException k = (KeeperException) e;
            return k.getResults() == null ? k.code().name() : k.code().name() + " " + String.join(",", results(k.getResults()));
        }
        return e.toString();
    }

    static List<String> results(List<OpResult> results) {
        List<String> words = new ArrayList<>();
        for (OpResult r : results) {
            if (r instanceof OpResult.ErrorResult) {
                words.add(KeeperException.Code.get(((OpResult.ErrorResult) r).getErr()).name());
            } else if (r instanceof OpResult.CreateResult) {
                words.add(((OpResult.CreateResult) r).getPath());
            } else if (r instanceof OpResult.SetDataResult) {
                words.add("v" + ((OpResult.SetDataResult) r).getStat().getVersion());
            } else {
                words.add("done");
            }
        }
        return words;
    }

    /** A watch's event. Watches also hear of the connection, which is told elsewhere. */
    static void event(String target, WatchedEvent e) {
        if (e.getPath() != null) {
            Driver.event(target, "watch", e.getType().name() + " " + e.getPath());
        }
    }
}
