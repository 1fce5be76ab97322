package io.pipelane.server.cli;

import io.pipelane.server.protocol.ProductVersion;
import picocli.CommandLine.IVersionProvider;

/** What {@code --version} prints. */
final class VersionProvider implements IVersionProvider {
  @Override
  public String[] getVersion() {
    return new String[] {"Pipelane " + ProductVersion.get()};
  }
}
