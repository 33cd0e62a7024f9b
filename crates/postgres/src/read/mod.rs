pub(crate) mod control; pub(crate) mod due; pub(crate) mod event; pub(crate) mod expected; pub(crate) mod lane; pub(crate) mod list; pub(crate) mod show; pub(crate) mod status;
