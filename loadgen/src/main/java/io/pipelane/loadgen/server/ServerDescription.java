package io.pipelane.loadgen.server;

import io.pipelane.loadgen.result.ServerText;

/** The name and version that a server calls itself by. */
public record ServerDescription(String name, String version) {
  /** Of a server that does not say. */
  public static final ServerDescription UNKNOWN = new ServerDescription("", "");

  public ServerDescription {
    name = ServerText.of(name);
    version = ServerText.of(version);
  }

  @Override
  public String toString() {
    return name.isEmpty() ? "a server that does not say what it is" : name + " " + version;
  }
}
