package io.pipelane.lanes.process;

import io.pipelane.lanes.process.settings.Launcher;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;

/**
 * Starts processes that stay though they are killed, as those do that a driver keeps: they compute
 * nothing any more, and have all that they had, until they are let go.
 */
public final class StubbornProcesses implements Launcher {
  private final List<Stubborn> killed = new CopyOnWriteArrayList<>();
  private volatile boolean areKept = true;

  @Override
  public Process start(ProcessBuilder program) throws IOException {
    return new Stubborn(program.start());
  }

  /** Whether one has been killed that is there still. */
  public boolean isOneKept() {
    return areKept && !killed.isEmpty();
  }

  /** Lets those go that were killed, and others at once when they are. */
  public void letGo() {
    areKept = false;
    killed.forEach(process -> process.real.destroyForcibly());
  }

  private final class Stubborn extends Process {
    private final Process real;

    Stubborn(Process real) {
      this.real = real;
    }

    @Override
    public Process destroyForcibly() {
      if (!areKept) {
        real.destroyForcibly();
      } else if (!killed.contains(this)) {
        Signals.stop(pid());
        killed.add(this);
        if (!areKept) {
          real.destroyForcibly();
        }
      }
      return this;
    }

    @Override
    public void destroy() {
      throw new UnsupportedOperationException("workers are told to end, or killed");
    }

    @Override
    public OutputStream getOutputStream() {
      return real.getOutputStream();
    }

    @Override
    public InputStream getInputStream() {
      return real.getInputStream();
    }

    @Override
    public InputStream getErrorStream() {
      return real.getErrorStream();
    }

    @Override
    public int waitFor() throws InterruptedException {
      return real.waitFor();
    }

    @Override
    public boolean waitFor(long timeout, TimeUnit unit) throws InterruptedException {
      return real.waitFor(timeout, unit);
    }

    @Override
    public int exitValue() {
      return real.exitValue();
    }

    @Override
    public boolean isAlive() {
      return real.isAlive();
    }

    @Override
    public long pid() {
      return real.pid();
    }
  }
}
