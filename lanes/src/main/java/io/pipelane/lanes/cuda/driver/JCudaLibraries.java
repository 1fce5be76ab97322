package io.pipelane.lanes.cuda.driver;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * The loader of JCuda's native libraries. JCuda unpacks them to files of fixed names in the
 * system's folder for temporary files. Another process that begins at the same time would map a
 * file that is half written, and die of it: so one process of a user loads them at a time.
 */
public final class JCudaLibraries {
  private static final System.Logger LOG = System.getLogger(JCudaLibraries.class.getName());

  /**
   * Loading takes a fraction of a second; whoever holds the lock for longer does something else.
   */
  private static final long PATIENCE_NANOS = TimeUnit.SECONDS.toNanos(5);

  private static final long LOOK_NANOS = TimeUnit.MILLISECONDS.toNanos(5);

  private JCudaLibraries() {}

  /**
   * Initialises a class of JCuda's, which loads its library; waits a few seconds at most.
   *
   * @throws LinkageError when that cannot be loaded
   */
  public static synchronized void load(Class<?> type) {
    try (FileChannel file =
        FileChannel.open(lockFile(), StandardOpenOption.CREATE, StandardOpenOption.WRITE)) {
      long begin = System.nanoTime();
      while (file.tryLock() == null && System.nanoTime() - begin < PATIENCE_NANOS) {
        LockSupport.parkNanos(LOOK_NANOS);
      }
      initialise(type);
    } catch (IOException e) {
      LOG.log(System.Logger.Level.DEBUG, "JCuda is loaded without a lock", e);
      initialise(type);
    }
  }

  private static void initialise(Class<?> type) {
    try {
      Class<?> _ = Class.forName(type.getName(), true, type.getClassLoader());
    } catch (ClassNotFoundException e) {
      throw new LinkageError(type.getName(), e);
    }
  }

  private static Path lockFile() {
    return Path.of(
        System.getProperty("java.io.tmpdir"),
        "pipelane-jcuda-" + System.getProperty("user.name") + ".lock");
  }
}
