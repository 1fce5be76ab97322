package io.pipelane.loadgen.server;

import io.pipelane.loadgen.result.ServerText;
import java.util.List;

/** The name that a server calls itself by, and which of the protocol's extensions it names. */
public record ServerDescription(String name, String version, List<String> extensions) {
  /** Of a server that does not say. */
  public static final ServerDescription UNKNOWN = new ServerDescription("", "", List.of());

  public ServerDescription {
    name = ServerText.of(name);
    version = ServerText.of(version);
    extensions = List.copyOf(extensions);
  }

  @Override
  public String toString() {
    return name.isEmpty() ? "a server that does not say what it is" : name + " " + version;
  }
}
