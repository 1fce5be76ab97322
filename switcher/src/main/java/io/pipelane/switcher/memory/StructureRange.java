package io.pipelane.switcher.memory;

import io.pipelane.lanes.AddressRange;

/**
 * Fixed addresses that the weights of a structure's variants lie at, one variant at a time; what a
 * session is built for.
 */
public final class StructureRange {
  final AddressRange addresses;
  private final Structure structure;

  StructureRange(Structure structure, AddressRange addresses) {
    this.structure = structure;
    this.addresses = addresses;
  }

  public Structure structure() {
    return structure;
  }

  public long address() {
    return addresses.address();
  }
}
